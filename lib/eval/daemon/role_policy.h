#ifndef MAXKERNEL_LIB_EVAL_DAEMON_ROLE_POLICY_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_ROLE_POLICY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/eval/daemon/execution_gate.h"
#include "lib/eval/daemon/role_runner.h"
#include "maxkernel/evaluation.h"

namespace maxkernel::eval {

// What came of a role, once it is known whose fault a failure is.
struct RoleVerdict {
  bool passed = false;
  Verdict verdict = Verdict::kRejected;  // if not passed
  std::string reason;                    // likewise
  RunnerResult result;                   // empty if the process gave none
  std::vector<Diagnostic> diagnostics;
  absl::Duration duration = absl::ZeroDuration();
  bool interpreted = false;  // the process was past the candidate's import, as far as it said
};

// Runs the author's process. It is believed in nothing but a failure: whatever it does is the candidate's doing, only a sandbox that
// does not start is the host's (Unavailable, after one retry).
absl::StatusOr<RoleVerdict> RunAuthor(RoleRunner& runner, ExecutionGate& gate, const RoleRequest& request);

enum class OnTaskFault : std::uint8_t { kError, kVerdict };

// Runs a process that executes no candidate Python. A fault of the task is FailedPrecondition, unless its description is the answer. What the machine may have done (a death,
// a malformed answer, an infrastructure fault) is tried once more, then Unavailable; but a compiler that is killed by a signal twice
// was killed by the program, and a memory limit that is hit twice likewise. `use` kExclusive: alone on the host.
absl::StatusOr<RoleVerdict> RunTrusted(RoleRunner& runner, ExecutionGate& gate, ExecutionGate::Use use, const RoleRequest& request,
                                       OnTaskFault on_task_fault = OnTaskFault::kError);

// The message of a FailedPrecondition for a task's fault, with file and line where known.
absl::Status TaskFault(const RunnerResult& result);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_ROLE_POLICY_H_
