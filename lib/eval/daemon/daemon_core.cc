#include "lib/eval/daemon/daemon_core.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "lib/eval/daemon/bounded_text.h"
#include "lib/eval/daemon/role_policy.h"
#include "maxkernel/internal/strings.h"
#include "maxkernel/version.h"

namespace maxkernel::eval {
namespace {

namespace fs = std::filesystem;
using internal::ToAbsl;

constexpr std::uint64_t kReferencesLimit = std::uint64_t{32} << 30;
constexpr std::size_t kDigestLength = 16;
constexpr std::size_t kKeyLimit = 256;
constexpr absl::Duration kProbeDeadline = absl::Minutes(2);

// What decides the results, and nothing that a run leaves behind.
std::string RunnerDigest(const fs::path& runner) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(runner / "maxkernel_runner", error), end; !error && entry != end; entry.increment(error)) {
    const std::string extension = entry->path().extension();
    if (extension == ".py" || extension == ".tsv" || extension == ".json") files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  std::string identity;
  for (const fs::path& file : files) {
    absl::StatusOr<std::string> text = ReadFile(file);
    absl::StrAppend(&identity, file.lexically_relative(runner).string(), " ", text.ok() ? Sha256Hex(*text) : "", "\n");
  }
  return Sha256Hex(identity).substr(0, kDigestLength);
}

std::string HostDescription() {
  std::ifstream stream("/proc/cpuinfo");
  std::string line;
  std::string model = "unknown processor";
  while (std::getline(stream, line)) {
    if (!absl::StartsWith(line, "model name")) continue;
    model = line.substr(std::min(line.size(), line.find(':') + 2));
    break;
  }
  return absl::StrCat(model, ", ", std::thread::hardware_concurrency(), " cores");
}

bool IsDeterministic(Fidelity fidelity) { return fidelity != Fidelity::kCpu && fidelity != Fidelity::kDevice; }

// Whether the same question would get the same answer: not where load, or luck, decided.
bool IsRepeatable(const JobAnswer& answer) {
  const auto* evaluation = std::get_if<Evaluation>(&answer);
  return evaluation == nullptr || (evaluation->verdict != Verdict::kTimedOut && evaluation->verdict != Verdict::kCrashed);
}

std::string Fingerprint(const EvaluationJob& job) {
  return Sha256Hex(absl::StrCat("evaluation\n", job.task.digest, "\n", job.candidate.content_hash(), "\n",
                                job.paired.has_value() ? job.paired->content_hash() : "", "\n", ToAbsl(ToString(job.fidelity)), "\n",
                                job.repeats, "\n", job.seed));
}

std::string ContentKey(std::string_view fingerprint, const std::map<std::string, std::string>& environment) {
  std::string content(fingerprint);
  for (const auto& [name, value] : environment) absl::StrAppend(&content, "\n", name, "=", value);
  return content;
}

std::string Summary(const absl::StatusOr<JobAnswer>& answer) {
  if (!answer.ok()) return absl::StrCat("error: ", answer.status().ToString());
  if (const auto* evaluation = std::get_if<Evaluation>(&*answer)) return std::string(ToString(evaluation->verdict));
  return std::get<AdmissionReport>(*answer).admitted ? "admitted" : "not admitted";
}

absl::Status CheckKey(const std::string& key) {
  if (!key.empty() && key.size() <= kKeyLimit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("idempotency_key: expected 1 to ", kKeyLimit, " bytes, got ", key.size()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DaemonCore>> DaemonCore::Create(const DaemonOptions& options, Log& log) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  std::unique_ptr<DaemonCore> core(new DaemonCore(options, log));
  if (absl::Status status = core->Initialise(); !status.ok()) return status;
  return core;
}

DaemonCore::~DaemonCore() = default;

absl::Status DaemonCore::Initialise() {
  if (options_.cpu_slots == 0) options_.cpu_slots = std::max(1u, std::thread::hardware_concurrency());
  std::error_code error;
  options_.runner = fs::weakly_canonical(options_.runner, error);
  absl::StatusOr<HardwareFile> hardware = HardwareFile::Load(options_.hardware_file);
  if (!hardware.ok()) return absl::FailedPreconditionError(absl::StrCat("hardware file: ", hardware.status().message()));
  hardware_ = std::move(*hardware);
  absl::StatusOr<std::unique_ptr<StateFolder>> state = StateFolder::Open(options_.state_folder);
  if (!state.ok()) return state.status();
  state_ = std::move(*state);
  launcher_ = std::make_unique<ProcessLauncher>();

  SandboxOptions sandbox_options;
  sandbox_options.isolation = options_.isolation == DaemonOptions::Isolation::kBubblewrap ? SandboxOptions::Isolation::kBubblewrap
                                                                                          : SandboxOptions::Isolation::kNone;
  sandbox_options.python = options_.python;
  sandbox_options.runner = options_.runner;
  sandbox_options.limits.memory_bytes = options_.memory_limit_bytes;
  absl::StatusOr<std::unique_ptr<Sandbox>> sandbox = Sandbox::Create(sandbox_options, *launcher_);
  if (!sandbox.ok()) return sandbox.status();
  sandbox_ = std::move(*sandbox);
  runner_ = MakeSandboxedRoleRunner(*launcher_, *sandbox_, options_.output_limit_bytes);
  if (absl::Status status = ProbeRunner(); !status.ok()) return status;

  references_ = std::make_unique<ReferenceStore>(state_->references(), kReferencesLimit);
  cache_ = std::make_unique<ResultCache>(state_->results());
  PipelineOptions pipeline;
  pipeline.stage_deadline = options_.stage_deadline;
  pipeline.environment = probe_.environment;
  pipeline_ = std::make_unique<Pipeline>(pipeline, *hardware_, *runner_, *state_, *references_, gate_);
  queue_ = std::make_unique<JobQueue>(JobQueueOptions{options_.cpu_slots, options_.queue_limit});
  log_.Write("started", {{"version", kVersion},
                         {"isolation", probe_.isolation},
                         {"control_groups", sandbox_->control_groups() == nullptr ? "none" : sandbox_->control_groups()->description()},
                         {"cpu_slots", absl::StrCat(options_.cpu_slots)},
                         {"state", options_.state_folder.string()}});
  return absl::OkStatus();
}

absl::Status DaemonCore::ProbeRunner() {
  RoleRequest request;
  request.role = Role::kProbe;
  absl::StatusOr<nlohmann::json> hardware = hardware_->Chip(hardware_->typical_chip());
  if (!hardware.ok()) return hardware.status();
  request.job = {{"chip", hardware_->typical_chip()}, {"hardware", *hardware}};
  request.deadline = kProbeDeadline;
  absl::StatusOr<RoleVerdict> verdict = RunTrusted(*runner_, gate_, ExecutionGate::Use::kShared, request);
  if (!verdict.ok() || !verdict->passed) {
    const std::string reason = verdict.ok() ? verdict->reason : std::string(verdict.status().message());
    return absl::FailedPreconditionError(absl::StrCat("probe the runner with '", options_.python.string(), "': ", reason,
                                                      "; the interpreter needs jax (see runner/requirements.txt)"));
  }
  probe_.version = kVersion;
  probe_.cpu_slots = options_.cpu_slots;
  probe_.isolation = sandbox_->Describe();
  for (const RunnerCase& entry : verdict->result.cases) {
    const std::optional<Fidelity> fidelity = ParseFidelity(entry.result.name);
    if (!fidelity.has_value()) continue;
    std::string detail = entry.result.absent;
    for (const auto& [name, note] : entry.notes) absl::StrAppend(&detail, detail.empty() ? "" : ", ", name, " ", note);
    // Timing on an accelerator needs one that this daemon can lease.
    const bool works = entry.status == "passed" && *fidelity != Fidelity::kDevice;
    if (*fidelity == Fidelity::kDevice && detail.empty()) detail = "this daemon has no accelerator";
    probe_.fidelities.push_back({*fidelity, works, detail});
  }
  probe_.environment = verdict->result.environment;
  probe_.environment["evaluator"] = absl::StrCat("maxkernel-evald ", kVersion);
  probe_.environment["runner"] = RunnerDigest(options_.runner);
  probe_.environment["hardware"] = hardware_->digest().substr(0, kDigestLength);
  probe_.environment["host"] = HostDescription();
  return absl::OkStatus();
}

absl::Status DaemonCore::CheckFidelities(const EvaluationJob& job) const {
  for (const Fidelity fidelity : WantedFidelities(job)) {
    const auto found = std::find_if(probe_.fidelities.begin(), probe_.fidelities.end(),
                                    [&](const FidelityProbe& entry) { return entry.fidelity == fidelity; });
    if (found != probe_.fidelities.end() && found->works) continue;
    const std::string detail = found == probe_.fidelities.end() || found->detail.empty() ? "this daemon does not have it" : found->detail;
    return absl::UnimplementedError(absl::StrCat("fidelity ", ToAbsl(ToString(fidelity)), ": ", detail));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<JobWatch>> DaemonCore::Evaluate(EvaluationOrder order, std::function<void()> on_change) {
  if (absl::Status status = CheckKey(order.key); !status.ok()) return status;
  if (absl::Status status = CheckFidelities(order.job); !status.ok()) return status;
  JobOrder queued;
  queued.key = order.key;
  queued.fingerprint = Fingerprint(order.job);
  queued.linger = order.linger;
  const std::string content =
      IsDeterministic(order.job.fidelity)
          ? ContentKey(queued.fingerprint, pipeline_->Environment(order.job.fidelity, order.job.task.chip))
          : "";
  const std::string what = absl::StrCat(order.job.task.name, " ", order.job.candidate.content_hash().substr(0, 12), " ",
                                        ToAbsl(ToString(order.job.fidelity)));
  auto job = std::make_shared<const EvaluationJob>(std::move(order.job));
  queued.work = [this, job](std::stop_token stop, const JobOrder::Emit& emit) -> absl::StatusOr<JobAnswer> {
    PipelineObserver observer;
    observer.on_progress = [&](Stage stage, const RunnerProgress& progress) {
      JobEvent event;
      event.kind = JobEvent::Kind::kProgress;
      event.stage = stage;
      event.progress = progress;
      emit(std::move(event));
    };
    observer.on_stage_finished = [&](const StageReport& report) {
      JobEvent event;
      event.kind = JobEvent::Kind::kStageFinished;
      event.report = report;
      emit(std::move(event));
    };
    absl::StatusOr<Evaluation> evaluation = pipeline_->Evaluate(*job, stop, observer);
    if (!evaluation.ok()) return evaluation.status();
    return std::move(*evaluation);
  };
  return Submit(order.client, what, std::move(queued), content, std::move(on_change));
}

absl::StatusOr<std::shared_ptr<JobWatch>> DaemonCore::Admit(AdmissionOrder order, std::function<void()> on_change) {
  if (absl::Status status = CheckKey(order.key); !status.ok()) return status;
  JobOrder queued;
  queued.key = order.key;
  queued.fingerprint = Sha256Hex(absl::StrCat("admission\n", order.job.task.digest, "\n", order.job.seed));
  queued.linger = order.linger;
  const std::string content = ContentKey(queued.fingerprint, pipeline_->Environment(Fidelity::kEstimate, order.job.task.chip));
  const std::string what = absl::StrCat(order.job.task.name, " admission");
  auto job = std::make_shared<const AdmissionJob>(std::move(order.job));
  queued.work = [this, job](std::stop_token stop, const JobOrder::Emit& emit) -> absl::StatusOr<JobAnswer> {
    PipelineObserver observer;
    observer.on_progress = [&](Stage stage, const RunnerProgress& progress) {
      JobEvent event;
      event.kind = JobEvent::Kind::kProgress;
      event.stage = stage;
      event.progress = progress;
      emit(std::move(event));
    };
    absl::StatusOr<AdmissionReport> report = pipeline_->Admit(*job, stop, observer);
    if (!report.ok()) return report.status();
    return std::move(*report);
  };
  return Submit(order.client, what, std::move(queued), content, std::move(on_change));
}

absl::StatusOr<std::shared_ptr<JobWatch>> DaemonCore::Submit(const std::string& client, const std::string& what, JobOrder order,
                                                             std::string content, std::function<void()> on_change) {
  const auto from_cache = [this](const std::string& key, const std::string& fingerprint,
                                 const std::string& the_content) -> absl::StatusOr<std::optional<JobAnswer>> {
    absl::StatusOr<std::optional<JobAnswer>> known = cache_->FindByKey(key, fingerprint);
    if (!known.ok() || known->has_value() || the_content.empty()) return known;
    std::optional<JobAnswer> same = cache_->FindByContent(the_content);
    if (same.has_value()) {
      // From now on the key has this answer, whatever happens to the other one.
      if (absl::Status status = cache_->Store(key, fingerprint, "", *same); !status.ok()) return status;
    }
    return same;
  };
  absl::StatusOr<std::optional<JobAnswer>> known = from_cache(order.key, order.fingerprint, content);
  if (!known.ok()) return known.status();
  const std::string key = order.key;
  if (known->has_value()) {
    log_.Write("answered", {{"key", key}, {"client", client}, {"what", what}, {"answer", Summary(**known)}, {"from", "cache"}});
    return JobQueue::Answered(std::move(**known));
  }
  order.work = [this, key, fingerprint = order.fingerprint, content = std::move(content), client, what, from_cache,
                work = std::move(order.work)](std::stop_token stop, const JobOrder::Emit& emit) -> absl::StatusOr<JobAnswer> {
    // While this waited, the same may have been asked under another key.
    absl::StatusOr<std::optional<JobAnswer>> done = from_cache(key, fingerprint, content);
    if (done.ok() && done->has_value()) return std::move(**done);
    const absl::Time start = absl::Now();
    absl::StatusOr<JobAnswer> answer = work(stop, emit);
    log_.Write("finished", {{"key", key},
                            {"client", client},
                            {"what", what},
                            {"answer", Summary(answer)},
                            {"seconds", absl::StrCat(absl::ToDoubleSeconds(absl::Now() - start))}});
    if (!answer.ok()) return answer;
    // Durable before anyone hears of it.
    if (absl::Status status = cache_->Store(key, fingerprint, IsRepeatable(*answer) ? content : "", *answer); !status.ok()) return status;
    return answer;
  };
  absl::StatusOr<std::shared_ptr<JobWatch>> watch = queue_->Submit(std::move(order), std::move(on_change));
  const char* event = !watch.ok() ? "refused" : (*watch)->joined() ? "joined" : "submitted";
  Log::Fields fields = {{"key", key}, {"client", client}, {"what", what}};
  if (!watch.ok()) fields.push_back({"why", watch.status().ToString()});
  log_.Write(event, fields);
  return watch;
}

}  // namespace maxkernel::eval
