#ifndef MAXKERNEL_LIB_EVAL_DAEMON_PROCESS_RUNNER_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_PROCESS_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "lib/eval/daemon/process_launcher.h"

namespace maxkernel::eval {

// What the reader of a frame wants next.
enum class FrameAction : std::uint8_t { kContinue, kEnd, kMalformed };

struct ProcessRequest {
  // The child finds the job under descriptor 3 and writes frames to 4; what bubblewrap reports about itself goes to 5.
  ProcessCommand command;
  bool sandbox_reports = false;           // whether anything writes to descriptor 5
  std::string_view job;                   // the bytes under descriptor 3
  absl::Duration deadline = absl::InfiniteDuration();  // from the start of the process
  std::size_t output_limit = 1 << 20;     // kept of standard output and of standard error, each
  std::size_t frame_limit = 16 << 20;
  std::size_t frames_limit = 10000;
  std::stop_token stop;
  std::function<FrameAction(std::string frame)> on_frame;  // called from Run's thread
  // Asked several times per second: a text ends the process for that reason. May be empty.
  std::function<std::optional<std::string>()> watch;
  // Called after the process group was killed, for whatever else holds on to its children. May be empty.
  std::function<void()> kill_rest;
};

struct ProcessOutcome {
  enum class End : std::uint8_t {
    kResult,      // on_frame said kEnd
    kNoResult,    // the process ended without it; exit_code or signal says how
    kMalformed,   // on_frame said so, or the bytes were no frames; `detail` says why
    kTimedOut,
    kCancelled,
    kOverLimit,   // `watch` said so in `detail`
    kNotStarted,  // the process or its sandbox could not be set up; `detail` says why
  };
  End end = End::kNotStarted;
  std::string detail;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string output;        // both ends of standard output
  std::string error_output;  // likewise of standard error
  absl::Duration duration = absl::ZeroDuration();
};

// Runs a process to its end: feeds it the job, reads its frames, captures its output within bounds, and kills its whole tree when it
// has delivered, at its deadline, or on cancellation. Nothing of the tree is left when it returns, if the command has a pid namespace
// that dies with its first process; else nothing of its process group.
// Thread-safe: any number at once.
ProcessOutcome RunProcess(ProcessLauncher& launcher, const ProcessRequest& request);

// "SIGSEGV"; "signal 42" for one without a name.
std::string SignalName(int signal);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_PROCESS_RUNNER_H_
