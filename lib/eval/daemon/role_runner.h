#ifndef MAXKERNEL_LIB_EVAL_DAEMON_ROLE_RUNNER_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_ROLE_RUNNER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "lib/eval/daemon/process_launcher.h"
#include "lib/eval/daemon/runner_result.h"
#include "lib/eval/daemon/sandbox.h"
#include "nlohmann/json.hpp"

namespace maxkernel::eval {

// A folder that a role gets, and the job's field that names it: {"task", "dir"} for job["task"]["dir"].
struct RoleFolder {
  std::vector<std::string> field;
  Mount mount;
};

struct RoleRequest {
  Role role = Role::kProbe;
  nlohmann::json job;  // without `protocol`, `role` and the folders
  std::vector<RoleFolder> folders;
  std::filesystem::path written;        // the folder that the role writes to; empty for none
  std::uint64_t written_limit = std::uint64_t{4} << 30;  // bytes in it
  absl::Duration deadline = absl::InfiniteDuration();
  std::stop_token stop;
  std::function<void(const RunnerProgress&)> on_progress;  // called from Run's thread; may be empty
};

// How one runner process went.
struct RoleOutcome {
  enum class End : std::uint8_t {
    kResult,      // `result` is what it said
    kDied,        // it ended without a result: `reason` says how
    kMalformed,   // it said something that the protocol does not know
    kTimedOut,
    kCancelled,
    kOverLimit,   // memory, processes or written bytes
    kNotStarted,  // the sandbox could not be set up
  };
  End end = End::kNotStarted;
  std::optional<RunnerResult> result;
  std::string reason;        // for people, of any end but kResult
  bool by_signal = false;    // for kDied
  std::string error_output;  // the end of standard error
  absl::Duration duration = absl::ZeroDuration();
  // Of the last progress frame.
  std::string last_case;
};

// Runs roles of the Python runner, each in a process of its own.
// Thread-safe.
class RoleRunner {
 public:
  virtual ~RoleRunner() = default;
  virtual RoleOutcome Run(const RoleRequest& request) = 0;
};

// In the sandbox. `launcher` and `sandbox` must outlive it. Keeps `output_limit` bytes of each of a process's two outputs.
std::unique_ptr<RoleRunner> MakeSandboxedRoleRunner(ProcessLauncher& launcher, const Sandbox& sandbox, std::uint64_t output_limit);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_ROLE_RUNNER_H_
