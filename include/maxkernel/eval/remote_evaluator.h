#ifndef MAXKERNEL_EVAL_REMOTE_EVALUATOR_H_
#define MAXKERNEL_EVAL_REMOTE_EVALUATOR_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/evaluator.h"
#include "maxkernel/task.h"

namespace maxkernel {

struct RemoteEvaluatorOptions {
  std::string address;                         // "127.0.0.1:4000", "unix:/run/maxkernel/evald.sock"
  std::string client_name = "maxkernel";       // appears in the daemon's log
  absl::Duration connect_timeout = absl::Seconds(10);
  // How often a broken stream is taken up again under its idempotency key before the evaluation counts as kUnavailable.
  int reattach_attempts = 5;
};

// Evaluates candidates for `task` at an evaluation daemon, over the contract in proto/maxkernel/v1/evaluation.proto.
// Describe() checks that a maxkernel daemon of a known protocol version answers: kUnavailable (nobody listens; how to start one),
// kFailedPrecondition (something else listens there, or an unknown version).
absl::StatusOr<std::unique_ptr<Evaluator>> MakeRemoteEvaluator(std::shared_ptr<const Task> task,
                                                               const RemoteEvaluatorOptions& options);

// What `maxkernel task check` prints: the daemon's admission tests of a task.
struct AdmissionFinding {
  enum class Level : std::uint8_t { kPass, kWarning, kFail };
  Level level = Level::kPass;
  std::string check;        // "null candidate: zeros"
  std::string case_name;    // empty: all
  std::string message;
};
struct AdmissionReport {
  bool admitted = false;
  std::vector<AdmissionFinding> findings;
  bool from_cache = false;
};
absl::StatusOr<AdmissionReport> CheckTask(const Task& task, const RemoteEvaluatorOptions& options);

// What `maxkernel doctor` prints: per fidelity whether it works at that daemon, and why not.
struct FidelityProbe {
  Fidelity fidelity = Fidelity::kEstimate;
  bool works = false;
  std::string detail;       // version, or what is missing and what to do about it
};
struct DaemonProbe {
  std::string version;
  std::uint32_t cpu_slots = 0;
  std::uint32_t devices = 0;
  std::string isolation;    // "bubblewrap" or "none (asked for by --unsafe-no-sandbox)"
  std::vector<FidelityProbe> fidelities;
  std::map<std::string, std::string> environment;
};
absl::StatusOr<DaemonProbe> ProbeDaemon(const RemoteEvaluatorOptions& options);

}  // namespace maxkernel

#endif  // MAXKERNEL_EVAL_REMOTE_EVALUATOR_H_
