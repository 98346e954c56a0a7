#include "lib/eval/daemon/process_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/eval/daemon/bounded_text.h"
#include "lib/eval/daemon/file_descriptor.h"
#include "lib/eval/daemon/runner_frame.h"

namespace maxkernel::eval {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
using End = ProcessOutcome::End;

constexpr int kJobNumber = 3;
constexpr int kResultNumber = 4;
constexpr int kSandboxNumber = 5;
constexpr std::size_t kSandboxReportLimit = 64 << 10;
constexpr absl::Duration kWatchInterval = absl::Milliseconds(200);
// Between the end of the result stream and the end of the process, which then tells its exit status.
constexpr absl::Duration kExitGrace = absl::Seconds(1);
// For the pipes of a killed tree to close; longer only if the kernel is stuck.
constexpr absl::Duration kDrainGrace = absl::Seconds(2);

absl::Duration Since(SteadyTime start) { return absl::FromChrono(std::chrono::steady_clock::now() - start); }

absl::StatusOr<FileDescriptor> MakeJobFile(std::string_view job) {
  FileDescriptor raw(::memfd_create("maxkernel-job", MFD_CLOEXEC));
  if (!raw.valid()) return ErrnoStatus("make the job's memory file", errno);
  FileDescriptor file(::fcntl(raw.get(), F_DUPFD_CLOEXEC, 10));
  if (!file.valid()) return ErrnoStatus("duplicate the job's memory file", errno);
  while (!job.empty()) {
    const ssize_t written = ::write(file.get(), job.data(), job.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus("write the job", errno);
    job.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// One run. Not thread-safe.
class Run {
 public:
  Run(ProcessLauncher& launcher, const ProcessRequest& request)
      : launcher_(launcher),
        request_(request),
        decoder_(request.frame_limit),
        output_(request.output_limit),
        error_output_(request.output_limit),
        sandbox_report_(kSandboxReportLimit) {}

  ProcessOutcome Execute() {
    if (absl::Status status = Start(); !status.ok()) {
      outcome_.detail = std::string(status.message());
      return std::move(outcome_);
    }
    Loop();
    Reap();
    Conclude();
    return std::move(outcome_);
  }

 private:
  absl::Status Start() {
    absl::StatusOr<FileDescriptor> job = MakeJobFile(request_.job);
    if (!job.ok()) return job.status();
    std::array<FileDescriptor, 4> theirs;
    const std::array<FileDescriptor*, 4> ours = {&result_, &stdout_, &stderr_, &sandbox_};
    for (std::size_t i = 0; i < ours.size(); ++i) {
      absl::StatusOr<Pipe> pipe = MakePipe();
      if (!pipe.ok()) return pipe.status();
      if (absl::Status status = SetNonBlocking(pipe->read); !status.ok()) return status;
      *ours[i] = std::move(pipe->read);
      theirs[i] = std::move(pipe->write);
    }
    wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_.valid()) return ErrnoStatus("make an event", errno);

    std::vector<ChildDescriptor> descriptors = {
        {theirs[1].get(), 1}, {theirs[2].get(), 2}, {job->get(), kJobNumber}, {theirs[0].get(), kResultNumber}};
    if (request_.sandbox_reports) descriptors.push_back({theirs[3].get(), kSandboxNumber});
    start_ = std::chrono::steady_clock::now();
    absl::StatusOr<pid_t> pid = launcher_.Launch(request_.command, descriptors);
    if (!pid.ok()) return pid.status();
    pid_ = *pid;
    // Not by <sys/pidfd.h>, which lacks extern "C" in glibc 2.36.
    process_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (!process_.valid()) {
      const absl::Status status = ErrnoStatus("watch the process", errno);
      KillTree();
      ::waitpid(pid_, nullptr, 0);
      return status;
    }
    return absl::OkStatus();
  }

  void Loop() {
    const int wake = wake_.get();
    std::stop_callback on_stop(request_.stop, [wake] {
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = ::write(wake, &one, sizeof one);
    });
    while (true) {
      std::array<pollfd, 6> polled = {{{result_.get(), POLLIN, 0},
                                       {stdout_.get(), POLLIN, 0},
                                       {stderr_.get(), POLLIN, 0},
                                       {sandbox_.get(), POLLIN, 0},
                                       {exited_ ? -1 : process_.get(), POLLIN, 0},
                                       {end_.has_value() ? -1 : wake, POLLIN, 0}}};
      ::poll(polled.data(), polled.size(), PollTimeout());
      if (polled[1].revents != 0) Drain(stdout_, output_);
      if (polled[2].revents != 0) Drain(stderr_, error_output_);
      if (polled[3].revents != 0) Drain(sandbox_, sandbox_report_);
      if (polled[0].revents != 0) ReadFrames();
      if (polled[4].revents != 0) OnExit();
      if (exited_ && (!AnyPipeOpen() || Since(exit_time_) >= kDrainGrace)) return;
      if (!end_.has_value()) CheckLimits();
    }
  }

  bool AnyPipeOpen() const { return result_.valid() || stdout_.valid() || stderr_.valid() || sandbox_.valid(); }

  int PollTimeout() const {
    absl::Duration timeout = exited_ ? kDrainGrace - Since(exit_time_) : kWatchInterval;
    if (!end_.has_value()) timeout = std::min(timeout, Deadline() - Since(start_));
    return static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(std::max(timeout, absl::ZeroDuration()), absl::Milliseconds(1))));
  }

  absl::Duration Deadline() const { return std::min(request_.deadline, result_closed_ + kExitGrace); }

  void CheckLimits() {
    if (request_.stop.stop_requested()) {
      Finish(End::kCancelled, "");
    } else if (Since(start_) >= Deadline()) {
      Finish(Since(start_) >= request_.deadline ? End::kTimedOut : End::kNoResult, "");
    } else if (request_.watch && Since(start_) - last_watch_ >= kWatchInterval) {
      last_watch_ = Since(start_);
      if (std::optional<std::string> reason = request_.watch()) Finish(End::kOverLimit, std::move(*reason));
    }
  }

  void Drain(FileDescriptor& pipe, BoundedText& text) {
    std::array<char, 65536> buffer;
    const ssize_t size = ::read(pipe.get(), buffer.data(), buffer.size());
    if (size > 0) {
      text.Append({buffer.data(), static_cast<std::size_t>(size)});
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      pipe.Close();
    }
  }

  void ReadFrames() {
    std::array<char, 65536> buffer;
    const ssize_t size = ::read(result_.get(), buffer.data(), buffer.size());
    if (size > 0) {
      if (!end_.has_value()) Decode({buffer.data(), static_cast<std::size_t>(size)});
      return;
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    result_.Close();
    result_closed_ = Since(start_);
  }

  void Decode(std::string_view bytes) {
    decoder_.Append(bytes);
    while (true) {
      absl::StatusOr<std::optional<std::string>> frame = decoder_.Next();
      if (!frame.ok()) return Finish(End::kMalformed, std::string(frame.status().message()));
      if (!frame->has_value()) return;
      if (++frames_ > request_.frames_limit) return Finish(End::kMalformed, absl::StrCat("more than ", request_.frames_limit, " frames"));
      switch (request_.on_frame(std::move(**frame))) {
        case FrameAction::kContinue:
          break;
        case FrameAction::kEnd:
          return Finish(End::kResult, "");
        case FrameAction::kMalformed:
          return Finish(End::kMalformed, "");
      }
    }
  }

  // The first reason counts. Everything still alive is killed.
  void Finish(End end, std::string detail) {
    end_ = end;
    outcome_.detail = std::move(detail);
    if (!exited_) KillTree();
  }

  void OnExit() {
    exited_ = true;
    exit_time_ = std::chrono::steady_clock::now();
    KillTree();
  }

  void KillTree() {
    ::kill(-pid_, SIGKILL);
    if (request_.kill_rest) request_.kill_rest();
  }

  void Reap() {
    siginfo_t info = {};
    while (::waitid(P_PIDFD, static_cast<id_t>(process_.get()), &info, WEXITED) != 0) {
      if (errno != EINTR) return;
    }
    if (info.si_code == CLD_EXITED) {
      outcome_.exit_code = info.si_status;
    } else {
      outcome_.signal = info.si_status;
    }
  }

  void Conclude() {
    outcome_.duration = Since(start_);
    outcome_.output = output_.Text();
    outcome_.error_output = error_output_.Text();
    outcome_.end = end_.value_or(End::kNoResult);
    if (outcome_.end != End::kNoResult) return;
    if (decoder_.pending() > 0) outcome_.detail = absl::StrCat("an unfinished frame of ", decoder_.pending(), " bytes");
    // bubblewrap reports an exit code only for a program that it managed to start; it passes a signal on as 128 + its number.
    if (request_.sandbox_reports && outcome_.exit_code.has_value()) {
      if (!absl::StrContains(sandbox_report_.Text(), "\"exit-code\"")) {
        outcome_.end = End::kNotStarted;
        outcome_.detail = absl::StrCat("set up the sandbox: ", Tail(outcome_.error_output, 500));
      } else if (*outcome_.exit_code > 128 && *outcome_.exit_code <= 128 + SIGRTMAX) {
        outcome_.signal = *outcome_.exit_code - 128;
        outcome_.exit_code.reset();
      }
    }
  }

  ProcessLauncher& launcher_;
  const ProcessRequest& request_;
  ProcessOutcome outcome_;
  FrameDecoder decoder_;
  std::size_t frames_ = 0;
  BoundedText output_;
  BoundedText error_output_;
  BoundedText sandbox_report_;
  FileDescriptor result_;
  FileDescriptor stdout_;
  FileDescriptor stderr_;
  FileDescriptor sandbox_;
  FileDescriptor process_;
  FileDescriptor wake_;
  pid_t pid_ = -1;
  SteadyTime start_;
  SteadyTime exit_time_;
  absl::Duration result_closed_ = absl::InfiniteDuration();
  absl::Duration last_watch_ = absl::ZeroDuration();
  std::optional<End> end_;
  bool exited_ = false;
};

}  // namespace

ProcessOutcome RunProcess(ProcessLauncher& launcher, const ProcessRequest& request) { return Run(launcher, request).Execute(); }

std::string SignalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal) : absl::StrCat("SIG", name);
}

}  // namespace maxkernel::eval
