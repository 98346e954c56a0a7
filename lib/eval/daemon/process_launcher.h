#ifndef MAXKERNEL_LIB_EVAL_DAEMON_PROCESS_LAUNCHER_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_PROCESS_LAUNCHER_H_

#include <sys/types.h>

#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/internal/mutex.h"

namespace maxkernel::eval {

struct ProcessCommand {
  std::vector<std::string> arguments;    // the first is the program's absolute path
  std::vector<std::string> environment;  // "NAME=value"
};

// Descriptors that the child gets under the numbers given here; it gets no others, and an empty standard input.
struct ChildDescriptor {
  int ours = -1;
  int theirs = -1;
};

// Starts processes, each the leader of its own group, from one thread that lives as long as this object: the kernel ties "die with
// the parent" to the thread that spawned, not to the process.
// Thread-safe.
class ProcessLauncher {
 public:
  ProcessLauncher();
  // Processes that asked to die with their parent die here.
  ~ProcessLauncher();
  ProcessLauncher(const ProcessLauncher&) = delete;
  ProcessLauncher& operator=(const ProcessLauncher&) = delete;

  // The id of the new process, for the caller to wait for.
  absl::StatusOr<pid_t> Launch(const ProcessCommand& command, const std::vector<ChildDescriptor>& descriptors);

 private:
  struct Order {
    const ProcessCommand& command;
    const std::vector<ChildDescriptor>& descriptors;
    absl::StatusOr<pid_t> answer = absl::UnknownError("");
    bool answered = false;
  };

  void Serve();

  internal::Mutex mutex_;
  internal::ConditionVariable changed_;
  std::deque<Order*> orders_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_PROCESS_LAUNCHER_H_
