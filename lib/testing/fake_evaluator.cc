#include "maxkernel/testing/fake_evaluator.h"

#include <utility>

namespace maxkernel {
namespace {

// Latencies that are equal would otherwise leave the order to the threads.
std::uint64_t OrderOf(const std::string& key) { return std::stoull(Sha256Hex(key).substr(0, 15), nullptr, 16); }

}  // namespace

Evaluation MakeTimedEvaluation(std::vector<double> samples_seconds, Fidelity fidelity) {
  Evaluation evaluation;
  evaluation.fidelity = fidelity;
  evaluation.verdict = Verdict::kCorrect;
  for (Stage stage : {Stage::kValidate, Stage::kCompile, Stage::kTest, Stage::kMeasure}) {
    evaluation.stages.push_back({stage, StageStatus::kPassed, absl::ZeroDuration(), {}});
  }
  CaseResult result;
  result.name = "only";
  result.samples_seconds = std::move(samples_seconds);
  evaluation.cases.push_back(std::move(result));
  return evaluation;
}

Evaluation MakeFailedEvaluation(Verdict verdict, std::string reason, Fidelity fidelity) {
  Evaluation evaluation;
  evaluation.fidelity = fidelity;
  evaluation.verdict = verdict;
  evaluation.reason = reason;
  Diagnostic diagnostic;
  diagnostic.class_name = "fake";
  diagnostic.message = std::move(reason);
  evaluation.stages.push_back({Stage::kTest, StageStatus::kFailed, absl::ZeroDuration(), {std::move(diagnostic)}});
  return evaluation;
}

absl::StatusOr<Evaluation> FakeEvaluator::Evaluate(const EvaluateArgs& args) {
  {
    internal::MutexLock lock(mutex_);
    requests_.push_back(args.request);
  }
  if (options_.latency) {
    const absl::Status slept =
        options_.clock->SleepFor(options_.latency(args.request), OrderOf(args.request.idempotency_key), args.stop);
    if (!slept.ok()) return slept;
  }
  absl::StatusOr<Evaluation> evaluation = answer_(args);
  if (evaluation.ok()) {
    internal::MutexLock lock(mutex_);
    answered_keys_.push_back(args.request.idempotency_key);
  }
  return evaluation;
}

std::vector<EvaluateRequest> FakeEvaluator::requests() const {
  internal::MutexLock lock(mutex_);
  return requests_;
}

std::vector<std::string> FakeEvaluator::answered_keys() const {
  internal::MutexLock lock(mutex_);
  return answered_keys_;
}

}  // namespace maxkernel
