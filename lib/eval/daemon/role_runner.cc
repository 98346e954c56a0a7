#include "lib/eval/daemon/role_runner.h"

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/eval/daemon/bounded_text.h"
#include "lib/eval/daemon/process_runner.h"
#include "lib/eval/daemon/runner_frame.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::eval {
namespace {

using End = RoleOutcome::End;
using ProcessEnd = ProcessOutcome::End;

constexpr std::size_t kErrorTail = 3000;
constexpr std::size_t kResultFrameLimit = 16 << 20;

std::string Gibibytes(std::uint64_t bytes) { return absl::StrFormat("%.3g GiB", static_cast<double>(bytes) / (1 << 30)); }

std::uint64_t BytesIn(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored) && !entry->is_symlink(ignored)) bytes += entry->file_size(ignored);
    bytes += 4096;  // for the entry itself, so that empty files count
  }
  return bytes;
}

// What libraries print when the address space is used up.
bool LooksLikeOutOfMemory(std::string_view error_output) {
  for (const char* text : {"MemoryError", "std::bad_alloc", "Cannot allocate memory", "Out of memory", "out of memory"}) {
    if (absl::StrContains(internal::ToAbsl(error_output), text)) return true;
  }
  return false;
}

class SandboxedRoleRunner : public RoleRunner {
 public:
  SandboxedRoleRunner(ProcessLauncher& launcher, const Sandbox& sandbox, std::uint64_t output_limit)
      : launcher_(launcher), sandbox_(sandbox), output_limit_(output_limit) {}

  RoleOutcome Run(const RoleRequest& request) override {
    RoleOutcome outcome;
    std::unique_ptr<ControlGroup> group;
    if (ControlGroupFactory* factory = sandbox_.control_groups()) {
      absl::StatusOr<std::unique_ptr<ControlGroup>> made =
          factory->Make({.memory_bytes = sandbox_.limits().memory_bytes, .processes = sandbox_.limits().processes});
      if (!made.ok()) {
        outcome.reason = std::string(made.status().message());
        return outcome;
      }
      group = std::move(*made);
    }
    const std::string job = EncodeFrame(Job(request).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::string malformed;
    const ProcessOutcome process = RunProcess(launcher_, MakeRequest(request, group.get(), job, outcome, malformed));
    outcome.duration = process.duration;
    outcome.error_output = Tail(process.error_output, kErrorTail);
    Conclude(process, group.get(), malformed, outcome);
    return outcome;
  }

 private:
  nlohmann::json Job(const RoleRequest& request) const {
    nlohmann::json job = request.job;
    job["protocol"] = 1;
    job["role"] = std::string(ToString(request.role));
    for (const RoleFolder& folder : request.folders) {
      nlohmann::json* field = &job;
      for (const std::string& name : folder.field) field = &(*field)[name];
      *field = sandbox_.Visible(folder.mount).string();
    }
    return job;
  }

  ProcessRequest MakeRequest(const RoleRequest& request, const ControlGroup* group, std::string_view job, RoleOutcome& outcome,
                             std::string& malformed) const {
    std::vector<Mount> mounts;
    for (const RoleFolder& folder : request.folders) mounts.push_back(folder.mount);
    ProcessRequest process;
    process.command = sandbox_.RunnerCommand(mounts, group);
    process.sandbox_reports = sandbox_.reports();
    process.job = job;
    process.deadline = request.deadline;
    process.output_limit = output_limit_;
    process.frame_limit = kResultFrameLimit;
    process.stop = request.stop;
    process.on_frame = [&request, &outcome, &malformed](std::string frame) {
      auto parsed = ParseRunnerFrame(frame, request.role);
      if (!parsed.ok()) {
        malformed = std::string(parsed.status().message());
        return FrameAction::kMalformed;
      }
      if (auto* result = std::get_if<RunnerResult>(&*parsed)) {
        outcome.result = std::move(*result);
        return FrameAction::kEnd;
      }
      const RunnerProgress& progress = std::get<RunnerProgress>(*parsed);
      outcome.last_case = progress.case_name;
      if (request.on_progress) request.on_progress(progress);
      return FrameAction::kContinue;
    };
    if (!request.written.empty()) {
      process.watch = [&request]() -> std::optional<std::string> {
        if (BytesIn(request.written) <= request.written_limit) return std::nullopt;
        return absl::StrCat("it wrote more than ", Gibibytes(request.written_limit), " to its output folder");
      };
    }
    if (group != nullptr) process.kill_rest = [group] { group->KillAll(); };
    return process;
  }

  void Conclude(const ProcessOutcome& process, const ControlGroup* group, const std::string& malformed, RoleOutcome& outcome) const {
    switch (process.end) {
      case ProcessEnd::kResult:
        outcome.end = End::kResult;
        return;
      case ProcessEnd::kMalformed:
        outcome.end = End::kMalformed;
        outcome.reason = absl::StrCat("it answered outside of the runner protocol: ", malformed.empty() ? process.detail : malformed);
        return;
      case ProcessEnd::kTimedOut:
        outcome.end = End::kTimedOut;
        outcome.reason = absl::StrCat("it was still running after ", absl::FormatDuration(absl::Trunc(process.duration, absl::Milliseconds(100))));
        return;
      case ProcessEnd::kCancelled:
        outcome.end = End::kCancelled;
        outcome.reason = "cancelled";
        return;
      case ProcessEnd::kOverLimit:
        outcome.end = End::kOverLimit;
        outcome.reason = process.detail;
        return;
      case ProcessEnd::kNotStarted:
        outcome.end = End::kNotStarted;
        outcome.reason = process.detail;
        return;
      case ProcessEnd::kNoResult:
        break;
    }
    outcome.end = End::kDied;
    outcome.by_signal = process.signal.has_value();
    outcome.reason = process.signal.has_value() ? absl::StrCat("it was killed by ", SignalName(*process.signal))
                                                : absl::StrCat("it ended with exit status ", process.exit_code.value_or(-1));
    absl::StrAppend(&outcome.reason, " before it gave a result");
    if (!process.detail.empty()) absl::StrAppend(&outcome.reason, " (", process.detail, ")");
    if ((group != nullptr && group->RanOutOfMemory()) || LooksLikeOutOfMemory(outcome.error_output)) {
      outcome.end = End::kOverLimit;
      absl::StrAppend(&outcome.reason, ": out of memory; the limit is ", Gibibytes(sandbox_.limits().memory_bytes));
    } else if (group != nullptr && group->RanOutOfProcesses()) {
      outcome.end = End::kOverLimit;
      absl::StrAppend(&outcome.reason, ": too many processes; the limit is ", sandbox_.limits().processes);
    }
  }

  ProcessLauncher& launcher_;
  const Sandbox& sandbox_;
  const std::uint64_t output_limit_;
};

}  // namespace

std::unique_ptr<RoleRunner> MakeSandboxedRoleRunner(ProcessLauncher& launcher, const Sandbox& sandbox, std::uint64_t output_limit) {
  return std::make_unique<SandboxedRoleRunner>(launcher, sandbox, output_limit);
}

}  // namespace maxkernel::eval
