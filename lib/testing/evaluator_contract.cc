#include <algorithm>
#include <cmath>
#include <stop_token>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/testing/contract_run.h"
#include "maxkernel/testing/contract.h"

namespace maxkernel {
namespace {

class Suite {
 public:
  Suite(Evaluator& evaluator, const EvaluatorContractOptions& options, std::vector<std::string>& violations)
      : evaluator_(evaluator), options_(options), violations_(violations) {}

  void Run() {
    CheckDescription();
    const auto correct = Evaluate("correct candidate", options_.correct, "contract-correct");
    if (correct.has_value() && correct->verdict != Verdict::kCorrect) {
      Violate(absl::StrCat("the correct candidate is ", std::string(ToString(correct->verdict)), ": ", correct->reason));
    }
    const auto wrong = Evaluate("wrong candidate", options_.wrong, "contract-wrong");
    if (wrong.has_value() && wrong->verdict == Verdict::kCorrect) Violate("the wrong candidate is correct");
    if (wrong.has_value() && wrong->verdict != Verdict::kCorrect && wrong->reason.empty()) {
      Violate("a verdict other than correct has no reason");
    }
    const auto again = Evaluate("correct candidate, asked again", options_.correct, "contract-correct");
    if (correct.has_value() && again.has_value() && correct->verdict != again->verdict) {
      Violate("equal idempotency keys get different verdicts");
    }
    CheckThreads();
    CheckCancellation();
    CheckDeadline();
  }

 private:
  void Violate(std::string what) { violations_.push_back(std::move(what)); }

  EvaluateRequest Request(std::shared_ptr<const Candidate> candidate, std::string key) const {
    EvaluateRequest request;
    request.idempotency_key = std::move(key);
    request.candidate = std::move(candidate);
    request.fidelity = options_.fidelity;
    request.repeats = 3;
    request.seed = 1;
    return request;
  }

  void CheckDescription() {
    const absl::StatusOr<EvaluatorInfo> info = evaluator_.Describe();
    if (!info.ok()) return Violate(absl::StrCat("Describe failed: ", info.status().ToString()));
    if (info->name.empty()) Violate("Describe gives no name");
    if (info->capacity == 0) Violate("Describe gives a capacity of 0");
    if (std::find(info->fidelities.begin(), info->fidelities.end(), options_.fidelity) == info->fidelities.end()) {
      Violate(absl::StrCat("Describe does not list the fidelity ", std::string(ToString(options_.fidelity))));
    }
  }

  std::optional<Evaluation> Evaluate(const std::string& what, const std::shared_ptr<const Candidate>& candidate, const std::string& key) {
    const EvaluateRequest request = Request(candidate, key);
    const absl::StatusOr<Evaluation> evaluation = evaluator_.Evaluate({request, {}, absl::Now() + options_.patience, {}});
    if (!evaluation.ok()) {
      Violate(absl::StrCat(what, ": a status instead of a verdict: ", evaluation.status().ToString()));
      return std::nullopt;
    }
    CheckShape(what, *evaluation);
    return *evaluation;
  }

  void CheckShape(const std::string& what, const Evaluation& evaluation) {
    if (evaluation.fidelity != options_.fidelity) {
      Violate(absl::StrCat(what, ": fidelity ", std::string(ToString(evaluation.fidelity)), " instead of ",
                           std::string(ToString(options_.fidelity))));
    }
    bool failed = false;
    for (std::size_t i = 0; i < evaluation.stages.size(); ++i) {
      if (i > 0 && evaluation.stages[i].stage <= evaluation.stages[i - 1].stage) Violate(absl::StrCat(what, ": stages out of order"));
      if (failed && evaluation.stages[i].status == StageStatus::kPassed) Violate(absl::StrCat(what, ": a stage passed after one had failed"));
      failed = failed || evaluation.stages[i].status == StageStatus::kFailed;
    }
    if (failed == (evaluation.verdict == Verdict::kCorrect)) {
      Violate(absl::StrCat(what, ": verdict ", std::string(ToString(evaluation.verdict)), failed ? " with" : " without", " a failed stage"));
    }
    for (const CaseResult& result : evaluation.cases) {
      for (double sample : result.samples_seconds) {
        if (!std::isfinite(sample) || sample <= 0) Violate(absl::StrCat(what, ": case ", result.name, " has a time of ", sample, " s"));
      }
      if (!result.samples_seconds.empty() && !result.absent.empty()) {
        Violate(absl::StrCat(what, ": case ", result.name, " has times and a reason for having none"));
      }
    }
  }

  void CheckThreads() {
    std::vector<std::string> faults(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < faults.size(); ++i) {
      threads.emplace_back([&, i] {
        const EvaluateRequest request = Request(i % 2 == 0 ? options_.correct : options_.wrong, absl::StrCat("contract-thread-", i));
        absl::StatusOr<Evaluation> evaluation = absl::UnknownError("");
        const std::optional<std::string> exception = TextOfException(
            [&] { evaluation = evaluator_.Evaluate({request, {}, absl::Now() + options_.patience, {}}); });
        if (exception.has_value()) {
          faults[i] = absl::StrCat("threw: ", *exception);
        } else if (!evaluation.ok()) {
          faults[i] = evaluation.status().ToString();
        } else if ((evaluation->verdict == Verdict::kCorrect) != (i % 2 == 0)) {
          faults[i] = absl::StrCat("verdict ", std::string(ToString(evaluation->verdict)), " of another request");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& fault : faults) {
      if (!fault.empty()) Violate(absl::StrCat("several calls at once: ", fault));
    }
  }

  void CheckCancellation() {
    std::stop_source stop;
    stop.request_stop();
    const EvaluateRequest request = Request(options_.correct, "contract-cancelled");
    const absl::Time start = absl::Now();
    const absl::StatusOr<Evaluation> evaluation = evaluator_.Evaluate({request, stop.get_token(), start + options_.patience, {}});
    if (!evaluation.ok() && evaluation.status().code() != absl::StatusCode::kCancelled) {
      Violate(absl::StrCat("a cancelled call gives ", evaluation.status().ToString(), "; expected CANCELLED"));
    }
    if (absl::Now() - start > absl::Seconds(10)) Violate("a cancelled call took more than 10 s to return");
  }

  void CheckDeadline() {
    const EvaluateRequest request = Request(options_.correct, "contract-late");
    const absl::StatusOr<Evaluation> evaluation = evaluator_.Evaluate({request, {}, absl::Now() - absl::Seconds(1), {}});
    if (!evaluation.ok() && evaluation.status().code() != absl::StatusCode::kDeadlineExceeded) {
      Violate(absl::StrCat("a deadline in the past gives ", evaluation.status().ToString(), "; expected DEADLINE_EXCEEDED"));
    }
  }

  Evaluator& evaluator_;
  const EvaluatorContractOptions& options_;
  std::vector<std::string>& violations_;
};

}  // namespace

std::vector<std::string> CheckEvaluatorContract(Evaluator& evaluator, const EvaluatorContractOptions& options) {
  std::vector<std::string> violations;
  const std::optional<std::string> exception = TextOfException([&] { Suite(evaluator, options, violations).Run(); });
  if (exception.has_value()) violations.push_back(absl::StrCat("the evaluator threw: ", *exception));
  return violations;
}

}  // namespace maxkernel
