#ifndef MAXKERNEL_LIB_EVAL_DAEMON_CONTROL_GROUP_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_CONTROL_GROUP_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace maxkernel::eval {

struct ControlGroupLimits {
  std::uint64_t memory_bytes = 0;  // of all processes together, their temporary files included; 0: no limit
  std::uint64_t processes = 0;     // processes and threads; 0: no limit
};

// The control groups of one runner process tree; removed with this object, and whatever is still in them is killed.
// Thread-safe.
class ControlGroup {
 public:
  explicit ControlGroup(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  // Files that a process writes its id to, to enter.
  std::vector<std::string> EntryFiles() const;
  void KillAll() const;
  // Whether the kernel killed or refused something because the memory, or the number of processes, was used up.
  bool RanOutOfMemory() const;
  bool RanOutOfProcesses() const;

 private:
  std::vector<std::filesystem::path> folders_;  // one per hierarchy
};

// Makes control groups under the one that this process is in (version 1 hierarchies) or beside it (version 2, where the parent has been
// delegated to this user).
// Thread-safe.
class ControlGroupFactory {
 public:
  // Null if this process may not make groups, or the kernel has no suitable controllers. `proc_file` is /proc/self/cgroup and `mounts`
  // /proc/self/mounts, but for tests.
  static std::unique_ptr<ControlGroupFactory> Detect(const std::filesystem::path& proc_file = "/proc/self/cgroup",
                                                     const std::filesystem::path& mounts = "/proc/self/mounts");

  absl::StatusOr<std::unique_ptr<ControlGroup>> Make(const ControlGroupLimits& limits);
  // "pids and memory (version 1)".
  const std::string& description() const { return description_; }
  bool limits_processes() const { return limits_processes_; }

 private:
  struct Hierarchy {
    std::filesystem::path parent;  // groups are made in it
    bool version2 = false;
    bool memory = false;
    bool pids = false;
  };
  explicit ControlGroupFactory(std::vector<Hierarchy> hierarchies);

  std::vector<Hierarchy> hierarchies_;
  std::string description_;
  bool limits_processes_ = false;
  std::atomic<std::uint64_t> next_ = 1;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_CONTROL_GROUP_H_
