#ifndef MAXKERNEL_TESTING_FAKE_EVALUATOR_H_
#define MAXKERNEL_TESTING_FAKE_EVALUATOR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "maxkernel/evaluator.h"
#include "maxkernel/internal/mutex.h"
#include "maxkernel/testing/fake_clock.h"

namespace maxkernel {

// A correct evaluation with one case and these times.
Evaluation MakeTimedEvaluation(std::vector<double> samples_seconds, Fidelity fidelity = Fidelity::kEstimate);
// A verdict other than correct, with one diagnostic.
Evaluation MakeFailedEvaluation(Verdict verdict, std::string reason, Fidelity fidelity = Fidelity::kEstimate);

struct FakeEvaluatorOptions {
  EvaluatorInfo info{"fake", {Fidelity::kEstimate}, 4, {}};
  // How long an answer takes on `clock`; none: no time.
  std::function<absl::Duration(const EvaluateRequest&)> latency;
  FakeClock* clock = nullptr;  // needed if there is a latency
};

// Answers with a function and remembers what it was asked.
// Thread-safe if the function is.
class FakeEvaluator final : public Evaluator {
 public:
  using Answer = std::function<absl::StatusOr<Evaluation>(const EvaluateArgs&)>;
  explicit FakeEvaluator(Answer answer, FakeEvaluatorOptions options = {})
      : answer_(std::move(answer)), options_(std::move(options)) {}

  absl::StatusOr<EvaluatorInfo> Describe() override { return options_.info; }
  absl::StatusOr<Evaluation> Evaluate(const EvaluateArgs& args) override;

  // Of the calls so far, in the order in which they came.
  std::vector<EvaluateRequest> requests() const;
  // Of those that gave an evaluation.
  std::vector<std::string> answered_keys() const;

 private:
  const Answer answer_;
  const FakeEvaluatorOptions options_;
  mutable internal::Mutex mutex_;
  std::vector<EvaluateRequest> requests_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> answered_keys_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTING_FAKE_EVALUATOR_H_
