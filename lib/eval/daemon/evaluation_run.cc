#include "lib/eval/daemon/evaluation_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/eval/daemon/file_descriptor.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::eval {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using internal::ToAbsl;

constexpr std::size_t kKeyLength = 40;

RoleFolder Readable(std::vector<std::string> field, const fs::path& source, const char* destination) {
  return {std::move(field), {source, destination, Mount::Access::kRead}};
}

RoleFolder Writable(std::vector<std::string> field, const fs::path& source, const char* destination) {
  return {std::move(field), {source, destination, Mount::Access::kWrite}};
}

absl::Status LinkInto(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  fs::create_hard_link(file, folder / file.filename(), error);
  if (error) fs::copy_file(file, folder / file.filename(), error);
  if (error) return ErrnoStatus(absl::StrCat("link ", file.string()), error.value());
  return absl::OkStatus();
}

std::string ReferenceKey(const EvaluationJob& job, const std::map<std::string, std::string>& environment) {
  std::string identity = absl::StrCat(job.task.digest, "\n", job.seed, "\n");
  // Wall-clock measurements take fresh inputs for every sample.
  if (job.fidelity == Fidelity::kCpu) absl::StrAppend(&identity, "repeats ", job.repeats, "\n");
  for (const auto& [name, value] : environment) absl::StrAppend(&identity, name, "=", value, "\n");
  return Sha256Hex(identity).substr(0, kKeyLength);
}

}  // namespace

Json CommonJob(const TaskSnapshot& task, std::uint64_t seed, const Json& hardware) {
  return {{"task", {{"name", task.name}, {"config", task.configuration}}},
          {"cases", task.configuration["cases"]},
          {"seed", seed},
          {"chip", task.chip},
          {"hardware", hardware}};
}

Json CommonJob(const EvaluationJob& job, const Json& hardware) {
  Json common = CommonJob(job.task, job.seed, hardware);
  common["fidelity"] = std::string(ToString(job.fidelity));
  common["repeats"] = job.repeats;
  // A request may time at another fidelity than the task's own.
  if (IsTimed(job.fidelity)) common["task"]["config"]["fidelity"]["score"] = common["fidelity"];
  return common;
}

absl::StatusOr<ReferenceStore::Pin> GetReference(const PipelineServices& services, const EvaluationJob& job, const Json& hardware,
                                                 const std::map<std::string, std::string>& environment, const fs::path& task_folder,
                                                 std::stop_token stop, const PipelineObserver& observer) {
  return services.references.Get(ReferenceKey(job, environment), stop, [&](const fs::path& out) -> absl::Status {
    RoleRequest request;
    request.role = Role::kReference;
    request.job = CommonJob(job, hardware);
    request.folders = {Readable({"task", "dir"}, task_folder, "/task"), Writable({"out_dir"}, out, "/out")};
    request.written = out;
    request.written_limit = services.options.reference_limit_bytes;
    request.deadline = services.options.stage_deadline;
    request.stop = stop;
    request.on_progress = [&](const RunnerProgress& progress) {
      if (observer.on_progress) observer.on_progress(Stage::kTest, progress);
    };
    absl::StatusOr<RoleVerdict> verdict = RunTrusted(services.runner, services.gate, ExecutionGate::Use::kShared, request);
    if (!verdict.ok()) return verdict.status();
    if (!verdict->passed) return absl::FailedPreconditionError(absl::StrCat("task: its reference does not work: ", verdict->reason));
    return absl::OkStatus();
  });
}

EvaluationRun::EvaluationRun(const PipelineServices& services, const EvaluationJob& job, const Json& hardware,
                             const ScratchFolder& scratch, std::map<std::string, std::string> environment, std::stop_token stop,
                             const PipelineObserver& observer)
    : services_(services),
      job_(job),
      hardware_(hardware),
      scratch_(scratch),
      stop_(std::move(stop)),
      observer_(observer),
      wanted_(WantedFidelities(job)) {
  evaluation_.fidelity = job.fidelity;
  evaluation_.environment = std::move(environment);
  for (const SnapshotCase& entry : job.task.cases) {
    CaseResult result;
    result.name = entry.name;
    result.hidden = entry.hidden;
    evaluation_.cases.push_back(std::move(result));
  }
}

absl::StatusOr<Evaluation> EvaluationRun::Execute() {
  if (IsTimed(job_.fidelity) && !AnyCase(&SnapshotCase::score)) {
    return absl::InvalidArgumentError("task: no case is scored, so there is nothing to time");
  }
  if (absl::Status status = Prepare(); !status.ok()) return status;
  for (const auto stage : {&EvaluationRun::Author, &EvaluationRun::Compile, &EvaluationRun::Test, &EvaluationRun::Measure}) {
    absl::StatusOr<bool> goes_on = (this->*stage)();
    if (!goes_on.ok()) return goes_on.status();
    if (!*goes_on) break;
  }
  ExplainAbsences();
  return std::move(evaluation_);
}

absl::Status EvaluationRun::Prepare() {
  struct Folder {
    fs::path* path;
    const char* name;
  };
  for (const Folder folder : {Folder{&task_folder_, "task"}, Folder{&shared_folder_, "shared"}, Folder{&signature_folder_, "signature"},
                              Folder{&modules_, "modules"}}) {
    absl::StatusOr<fs::path> made = scratch_.Make(folder.name);
    if (!made.ok()) return made.status();
    *folder.path = std::move(*made);
  }
  if (absl::Status status = WriteSources(task_folder_, job_.task.files); !status.ok()) return status;
  if (absl::Status status = WriteSources(shared_folder_, job_.task.shared_files); !status.ok()) return status;
  absl::StatusOr<ReferenceStore::Pin> reference =
      GetReference(services_, job_, hardware_, evaluation_.environment, task_folder_, stop_, observer_);
  if (!reference.ok()) return reference.status();
  reference_ = std::move(*reference);
  return LinkInto(*reference_ / "signature.json", signature_folder_);
}

RoleRequest EvaluationRun::Request(Role role, Stage stage) const {
  RoleRequest request;
  request.role = role;
  request.job = CommonJob(job_, hardware_);
  request.job["limits"] = {{"module_bytes", services_.options.module_limit_bytes}};
  request.deadline = std::min(services_.options.stage_deadline, job_.stage_deadline);
  request.stop = stop_;
  request.on_progress = [this, stage](const RunnerProgress& progress) {
    if (observer_.on_progress) observer_.on_progress(stage, progress);
  };
  return request;
}

absl::StatusOr<RoleVerdict> EvaluationRun::RunAuthorOn(const Candidate& candidate, const fs::path& candidate_folder,
                                                       const fs::path& modules) {
  if (absl::Status status = WriteSources(candidate_folder, candidate.files()); !status.ok()) return status;
  RoleRequest request = Request(Role::kAuthor, Stage::kValidate);
  // The seed belongs to those who hold the reference outputs.
  request.job.erase("seed");
  Json files = Json::array();
  for (const SourceFile& file : candidate.files()) files.push_back(file.path);
  request.job["candidate"] = {{"entry", candidate.entry().path}, {"files", files}};
  Json targets = Json::array();
  if (Wants(Fidelity::kLower) || Wants(Fidelity::kAot) || Wants(Fidelity::kEstimate)) targets.push_back("tpu");
  if (Wants(Fidelity::kInterpret) || Wants(Fidelity::kCpu)) targets.push_back("cpu");
  request.job["targets"] = targets;
  request.folders = {Readable({"candidate", "dir"}, candidate_folder, "/candidate"), Readable({"task", "dir"}, shared_folder_, "/task"),
                     Readable({"reference_dir"}, signature_folder_, "/reference"), Writable({"out_dir"}, modules, "/out")};
  request.written = modules;
  request.written_limit = (2 * job_.task.cases.size() + 1) * services_.options.module_limit_bytes;
  request.on_progress = [this](const RunnerProgress& progress) {
    if (observer_.on_progress) observer_.on_progress(progress.case_name.empty() ? Stage::kValidate : Stage::kCompile, progress);
  };
  absl::StatusOr<RoleVerdict> verdict = RunAuthor(services_.runner, services_.gate, request);
  if (!verdict.ok()) return verdict.status();
  if (absl::Status status = KeepRegularFiles(modules); !status.ok()) return status;
  return verdict;
}

absl::StatusOr<bool> EvaluationRun::Author() {
  absl::StatusOr<fs::path> folder = scratch_.Make("candidate");
  if (!folder.ok()) return folder.status();
  absl::StatusOr<RoleVerdict> verdict = RunAuthorOn(job_.candidate, *folder, modules_);
  if (!verdict.ok()) return verdict.status();
  const auto work = verdict->result.timing.find("work");
  lowering_ = work == verdict->result.timing.end() ? absl::ZeroDuration() : std::min(work->second, verdict->duration);
  const bool fails_to_compile = !verdict->passed && verdict->verdict != Verdict::kRejected &&
                                (verdict->verdict == Verdict::kDoesNotCompile || verdict->interpreted);
  if (verdict->passed || fails_to_compile) {
    RoleVerdict validated;
    validated.passed = true;
    Finish(Stage::kValidate, validated, verdict->duration - lowering_, {});
    lowering_diagnostics_ = verdict->diagnostics;
    if (verdict->passed) return true;
    Finish(Stage::kCompile, *verdict, lowering_, verdict->diagnostics);
  } else {
    Finish(Stage::kValidate, *verdict, verdict->duration, verdict->diagnostics);
  }
  Fail(*verdict);
  return false;
}

absl::StatusOr<bool> EvaluationRun::Compile() {
  RoleVerdict verdict;
  verdict.passed = true;
  if (Wants(Fidelity::kAot)) {
    RoleRequest request = Request(Role::kCompile, Stage::kCompile);
    request.folders = {Readable({"module_dir"}, modules_, "/modules"), Readable({"reference_dir"}, signature_folder_, "/reference")};
    absl::StatusOr<RoleVerdict> compiled = RunTrusted(services_.runner, services_.gate, ExecutionGate::Use::kShared, request);
    if (!compiled.ok()) return compiled.status();
    verdict = std::move(*compiled);
    if (absl::Status status = Merge(verdict); !status.ok()) return status;
  }
  std::vector<Diagnostic> diagnostics = std::move(lowering_diagnostics_);
  diagnostics.insert(diagnostics.end(), verdict.diagnostics.begin(), verdict.diagnostics.end());
  Finish(Stage::kCompile, verdict, lowering_ + verdict.duration, std::move(diagnostics));
  if (!verdict.passed) Fail(verdict);
  return verdict.passed;
}

absl::StatusOr<bool> EvaluationRun::Test() {
  if ((!Wants(Fidelity::kInterpret) && !Wants(Fidelity::kCpu)) || !AnyCase(&SnapshotCase::test)) {
    evaluation_.stages.push_back({Stage::kTest, StageStatus::kSkipped, absl::ZeroDuration(), {}});
    if (observer_.on_stage_finished) observer_.on_stage_finished(evaluation_.stages.back());
    if (!IsTimed(job_.fidelity)) evaluation_.verdict = Verdict::kCorrect;
    return IsTimed(job_.fidelity);
  }
  RoleRequest request = Request(Role::kTest, Stage::kTest);
  request.folders = {Readable({"module_dir"}, modules_, "/modules"), Readable({"reference_dir"}, *reference_, "/reference")};
  absl::StatusOr<RoleVerdict> verdict = RunTrusted(services_.runner, services_.gate, ExecutionGate::Use::kShared, request);
  if (!verdict.ok()) return verdict.status();
  if (absl::Status status = Merge(*verdict); !status.ok()) return status;
  Finish(Stage::kTest, *verdict, verdict->duration, verdict->diagnostics);
  if (!verdict->passed) Fail(*verdict);
  if (verdict->passed && !IsTimed(job_.fidelity)) evaluation_.verdict = Verdict::kCorrect;
  return verdict->passed && IsTimed(job_.fidelity);
}

// Estimates need shapes and the integers that steer a kernel; wall-clock times need inputs and outputs.
absl::StatusOr<fs::path> EvaluationRun::ReferenceView() const {
  if (job_.fidelity == Fidelity::kCpu) return *reference_;
  absl::StatusOr<fs::path> view = scratch_.Make("measure");
  if (!view.ok()) return view.status();
  std::vector<fs::path> files = {*reference_ / "signature.json"};
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(*reference_, error)) {
    if (absl::EndsWith(entry.path().string(), ".scalars.npz")) files.push_back(entry.path());
  }
  if (error) return absl::InternalError(absl::StrCat("list '", reference_->string(), "': ", error.message()));
  for (const fs::path& file : files) {
    if (absl::Status status = LinkInto(file, *view); !status.ok()) return status;
  }
  return view;
}

absl::StatusOr<bool> EvaluationRun::Measure() {
  absl::StatusOr<fs::path> view = ReferenceView();
  if (!view.ok()) return view.status();
  RoleRequest request = Request(Role::kMeasure, Stage::kMeasure);
  request.folders = {Readable({"module_dir"}, modules_, "/modules"), Readable({"reference_dir"}, *view, "/reference")};
  const auto use = job_.fidelity == Fidelity::kCpu ? ExecutionGate::Use::kExclusive : ExecutionGate::Use::kShared;
  absl::StatusOr<RoleVerdict> verdict = RunTrusted(services_.runner, services_.gate, use, request);
  if (!verdict.ok()) return verdict.status();
  if (verdict->passed && job_.paired.has_value() && job_.fidelity == Fidelity::kCpu) {
    if (absl::Status status = MeasurePaired(request, *verdict); !status.ok()) return status;
  }
  if (absl::Status status = Merge(*verdict); !status.ok()) return status;
  Finish(Stage::kMeasure, *verdict, verdict->duration, verdict->diagnostics);
  if (verdict->passed) {
    evaluation_.verdict = Verdict::kCorrect;
  } else {
    Fail(*verdict);
  }
  return verdict->passed;
}

// Candidate, other, other, candidate: a drift of the machine hits both alike. `verdict` is of the first of the four.
absl::Status EvaluationRun::MeasurePaired(RoleRequest& request, RoleVerdict& verdict) {
  absl::StatusOr<fs::path> folder = scratch_.Make("paired");
  if (!folder.ok()) return folder.status();
  absl::StatusOr<fs::path> modules = scratch_.Make("paired_modules");
  if (!modules.ok()) return modules.status();
  absl::StatusOr<RoleVerdict> author = RunAuthorOn(*job_.paired, *folder, *modules);
  if (!author.ok()) return author.status();
  if (!author->passed) return absl::FailedPreconditionError(absl::StrCat("the paired candidate fails: ", author->reason));
  const RoleFolder own = request.folders.front();
  const RoleFolder other = Readable({"module_dir"}, *modules, "/modules");
  std::map<std::string, std::vector<double>> paired_samples;
  for (const RoleFolder* turn : {&other, &other, &own}) {
    request.folders.front() = *turn;
    absl::StatusOr<RoleVerdict> timed = RunTrusted(services_.runner, services_.gate, ExecutionGate::Use::kExclusive, request);
    if (!timed.ok()) return timed.status();
    verdict.duration += timed->duration;
    if (!timed->passed && turn == &other) return absl::FailedPreconditionError(absl::StrCat("the paired candidate fails: ", timed->reason));
    if (!timed->passed) {
      timed->duration = verdict.duration;
      verdict = std::move(*timed);
      return absl::OkStatus();
    }
    for (const RunnerCase& entry : timed->result.cases) {
      const auto same = std::find_if(verdict.result.cases.begin(), verdict.result.cases.end(),
                                     [&](const RunnerCase& known) { return known.result.name == entry.result.name; });
      if (same == verdict.result.cases.end()) continue;
      std::vector<double>& samples = turn == &own ? same->result.samples_seconds : paired_samples[entry.result.name];
      samples.insert(samples.end(), entry.result.samples_seconds.begin(), entry.result.samples_seconds.end());
    }
  }
  for (RunnerCase& entry : verdict.result.cases) {
    std::vector<double>& samples = paired_samples[entry.result.name];
    if (samples.empty()) continue;
    std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
    entry.result.facts["paired_median_s"] = samples[samples.size() / 2];
  }
  return absl::OkStatus();
}

bool EvaluationRun::AnyCase(bool SnapshotCase::* flag) const {
  return std::any_of(job_.task.cases.begin(), job_.task.cases.end(), [&](const SnapshotCase& entry) { return entry.*flag; });
}

void EvaluationRun::Finish(Stage stage, const RoleVerdict& verdict, absl::Duration duration, std::vector<Diagnostic> diagnostics) {
  StageReport report;
  report.stage = stage;
  report.status = verdict.passed ? StageStatus::kPassed : StageStatus::kFailed;
  report.duration = duration;
  report.diagnostics = std::move(diagnostics);
  if (observer_.on_stage_finished) observer_.on_stage_finished(report);
  evaluation_.stages.push_back(std::move(report));
}

void EvaluationRun::Fail(const RoleVerdict& verdict) {
  evaluation_.verdict = verdict.verdict;
  evaluation_.reason = verdict.reason;
}

// Takes over what a trusted process found. Unavailable if it speaks of cases that the task does not have.
absl::Status EvaluationRun::Merge(const RoleVerdict& verdict) {
  if (!verdict.result.identity.empty()) evaluation_.identity = verdict.result.identity;
  for (const auto& [name, value] : verdict.result.facts) {
    if (const double* number = std::get_if<double>(&value)) evaluation_.facts[name] = *number;
  }
  for (const RunnerCase& found : verdict.result.cases) {
    auto own = std::find_if(evaluation_.cases.begin(), evaluation_.cases.end(),
                            [&](const CaseResult& entry) { return entry.name == found.result.name; });
    if (own == evaluation_.cases.end() && AnyCase(&SnapshotCase::all_cases)) {
      own = evaluation_.cases.insert(own, CaseResult{.name = found.result.name});
    }
    if (own == evaluation_.cases.end()) {
      return absl::UnavailableError(absl::StrCat("the runner reports a case '", found.result.name, "' that the task does not have"));
    }
    if (found.result.max_abs_error.has_value()) own->max_abs_error = found.result.max_abs_error;
    if (found.result.max_rel_error.has_value()) own->max_rel_error = found.result.max_rel_error;
    if (found.result.floor_seconds.has_value()) own->floor_seconds = found.result.floor_seconds;
    if (!found.result.samples_seconds.empty()) own->samples_seconds = found.result.samples_seconds;
    if (!found.result.absent.empty()) own->absent = found.result.absent;
    own->facts.insert(found.result.facts.begin(), found.result.facts.end());
  }
  return absl::OkStatus();
}

void EvaluationRun::ExplainAbsences() {
  for (std::size_t i = 0; i < evaluation_.cases.size(); ++i) {
    CaseResult& entry = evaluation_.cases[i];
    if (!entry.samples_seconds.empty()) {
      entry.absent.clear();
    } else if (!IsTimed(job_.fidelity)) {
      entry.absent = absl::StrCat("fidelity ", ToAbsl(ToString(job_.fidelity)), " gives no times");
    } else if (!job_.task.cases[i].score) {
      entry.absent = "the task does not score this case";
    } else if (evaluation_.verdict != Verdict::kCorrect) {
      entry.absent = absl::StrCat("the evaluation ended with ", ToAbsl(ToString(evaluation_.verdict)));
    } else if (entry.absent.empty()) {
      entry.absent = "the runner gave no time and no reason";
    }
  }
}

}  // namespace maxkernel::eval
