#ifndef MAXKERNEL_LIB_EVAL_DAEMON_SANDBOX_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_SANDBOX_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/eval/daemon/control_group.h"
#include "lib/eval/daemon/process_launcher.h"

namespace maxkernel::eval {

struct Mount {
  enum class Access : std::uint8_t { kRead, kWrite };
  std::filesystem::path source;       // on the host
  std::filesystem::path destination;  // in the sandbox
  Access access = Access::kRead;
};

struct SandboxLimits {
  std::uint64_t memory_bytes = std::uint64_t{8} << 30;   // address space of one process
  std::uint64_t file_bytes = std::uint64_t{4} << 30;     // of one written file
  std::uint64_t temporary_bytes = std::uint64_t{1} << 30;  // of the sandbox's own /tmp
  std::uint64_t processes = 0;                           // processes and threads; 0: 512 and 16 per core
  std::uint64_t descriptors = 4096;
};

struct SandboxOptions {
  enum class Isolation : std::uint8_t { kBubblewrap, kNone };
  Isolation isolation = Isolation::kBubblewrap;
  std::filesystem::path python;
  std::filesystem::path runner;  // the folder that holds maxkernel_runner
  SandboxLimits limits;
};

// Makes the command lines under which runner processes run: no network, a read-only view of the interpreter and the runner, the job's
// own folders, no capability, no environment but the given one, a pid namespace that dies with its first process, and limits on memory,
// file sizes, descriptors and (by a control group, or by rlimit for an unprivileged daemon) processes.
// Thread-safe (immutable once made).
class Sandbox {
 public:
  // Asks the interpreter for its folders and proves that a process starts under the exact flags. FailedPrecondition, with what is
  // missing and how to get it, if not.
  static absl::StatusOr<std::unique_ptr<Sandbox>> Create(const SandboxOptions& options, ProcessLauncher& launcher);

  // Runs the runner's module on descriptors 3 and 4. `group` may be null.
  ProcessCommand RunnerCommand(const std::vector<Mount>& mounts, const ControlGroup* group) const;
  // Where a process in the sandbox finds what `mount` gives it.
  std::filesystem::path Visible(const Mount& mount) const;
  // Whether bubblewrap reports on descriptor 5.
  bool reports() const { return options_.isolation == SandboxOptions::Isolation::kBubblewrap; }
  // "bubblewrap", or "none (asked for by --unsafe-no-sandbox)".
  std::string Describe() const;
  // Null where control groups cannot be had.
  ControlGroupFactory* control_groups() const { return control_groups_.get(); }
  const SandboxLimits& limits() const { return options_.limits; }

 private:
  explicit Sandbox(const SandboxOptions& options) : options_(options) {}
  absl::Status FindPrograms();
  absl::Status FindPythonFolders(ProcessLauncher& launcher);
  absl::Status Probe(ProcessLauncher& launcher) const;
  ProcessCommand Command(const std::vector<Mount>& mounts, const std::vector<std::string>& arguments, const ControlGroup* group) const;

  SandboxOptions options_;
  std::string bubblewrap_;
  std::string prlimit_;
  std::string setpriv_;
  std::vector<std::filesystem::path> read_only_;  // same path inside and outside
  std::unique_ptr<ControlGroupFactory> control_groups_;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_SANDBOX_H_
