#ifndef MAXKERNEL_EVALUATOR_H_
#define MAXKERNEL_EVALUATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/candidate.h"
#include "maxkernel/evaluation.h"

namespace maxkernel {

struct EvaluatorInfo {
  std::string name;                    // for people: "evald at 127.0.0.1:4000"
  std::vector<Fidelity> fidelities;    // those that work
  std::uint32_t capacity = 1;          // evaluations that it runs at once
  // What must agree for two results to be comparable: versions, chip, model. Part of cache keys.
  std::map<std::string, std::string> environment;
};

struct EvaluateRequest {
  std::string idempotency_key;         // equal keys mean the same work: an evaluator may answer from its memory
  std::shared_ptr<const Candidate> candidate;
  std::shared_ptr<const Candidate> paired;  // measured interleaved with it; null for none
  Fidelity fidelity = Fidelity::kEstimate;  // the one that gives times
  std::uint32_t repeats = 1;           // timed samples per case
  std::uint64_t seed = 0;              // of the inputs
};

struct EvaluateArgs {
  const EvaluateRequest& request;
  std::stop_token stop;                // cancelled: return soon, with kCancelled
  absl::Time deadline;                 // past it: kDeadlineExceeded, which is never the candidate's fault
  std::function<void(std::string_view)> progress;  // may be empty; called from the calling thread: "compiling square"
};

// Says whether a candidate is correct and how fast it is. Holds the task it evaluates for.
// Called from several workers at once: thread-safe. What is wrong with a candidate is in the Evaluation; an error Status is about the
// world only (unreachable, full, foreign server), and the engine retries it within limits.
// Example: examples/03_own_evaluator.cc.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // May ask over the network.
  virtual absl::StatusOr<EvaluatorInfo> Describe() = 0;
  virtual absl::StatusOr<Evaluation> Evaluate(const EvaluateArgs& args) = 0;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_EVALUATOR_H_
