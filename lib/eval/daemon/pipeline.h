#ifndef MAXKERNEL_LIB_EVAL_DAEMON_PIPELINE_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/eval/daemon/execution_gate.h"
#include "lib/eval/daemon/hardware_file.h"
#include "lib/eval/daemon/reference_store.h"
#include "lib/eval/daemon/role_runner.h"
#include "lib/eval/daemon/state_folder.h"
#include "lib/eval/daemon/task_snapshot.h"
#include "maxkernel/candidate.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/evaluation.h"

namespace maxkernel::eval {

struct EvaluationJob {
  TaskSnapshot task;
  Candidate candidate;
  std::optional<Candidate> paired;
  Fidelity fidelity = Fidelity::kEstimate;
  std::uint32_t repeats = 1;
  std::uint64_t seed = 0;
  absl::Duration stage_deadline = absl::InfiniteDuration();
};

// Whether it gives times.
bool IsTimed(Fidelity fidelity);
// A fidelity that gives times asks for everything that the task calls valid; another one asks for itself.
std::set<Fidelity> WantedFidelities(const EvaluationJob& job);

struct AdmissionJob {
  TaskSnapshot task;
  std::uint64_t seed = 0;
};

// Told as it happens, from the thread that evaluates.
struct PipelineObserver {
  std::function<void(Stage, const RunnerProgress&)> on_progress;
  std::function<void(const StageReport&)> on_stage_finished;
};

struct PipelineOptions {
  absl::Duration stage_deadline = absl::Minutes(5);
  std::uint64_t module_limit_bytes = std::uint64_t{64} << 20;     // of one module
  std::uint64_t reference_limit_bytes = std::uint64_t{32} << 30;  // of one task's reference outputs
  // What identifies this host's results: versions of everything that takes part.
  std::map<std::string, std::string> environment;
};

// Runs the stages of an evaluation, each in runner processes of its own, and says whose fault a failure is. The author's process is
// believed in nothing that a trusted process does not check.
// The collaborators must outlive it. Thread-safe.
class Pipeline {
 public:
  Pipeline(const PipelineOptions& options, const HardwareFile& hardware, RoleRunner& runner, StateFolder& state,
           ReferenceStore& references, ExecutionGate& gate);

  // FailedPrecondition for a fault of the task's own files; Unavailable for one of the host that occurred twice; Cancelled;
  // InvalidArgument for an unknown chip; Unimplemented for fidelity `device`.
  absl::StatusOr<Evaluation> Evaluate(const EvaluationJob& job, std::stop_token stop, const PipelineObserver& observer);
  absl::StatusOr<AdmissionReport> Admit(const AdmissionJob& job, std::stop_token stop, const PipelineObserver& observer);

  // What results of `fidelity` for `chip` may be compared by.
  std::map<std::string, std::string> Environment(Fidelity fidelity, const std::string& chip) const;

 private:
  const PipelineOptions options_;
  const HardwareFile& hardware_;
  RoleRunner& runner_;
  StateFolder& state_;
  ReferenceStore& references_;
  ExecutionGate& gate_;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_PIPELINE_H_
