#include "lib/eval/daemon/admission.h"

#include "absl/strings/str_cat.h"

namespace maxkernel::eval {
namespace {

AdmissionFinding::Level ToLevel(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return AdmissionFinding::Level::kFail;
    case Severity::kWarning:
      return AdmissionFinding::Level::kWarning;
    case Severity::kNote:
      break;
  }
  return AdmissionFinding::Level::kPass;
}

std::string Located(const Diagnostic& diagnostic) {
  if (diagnostic.file.empty()) return diagnostic.message;
  if (!diagnostic.line.has_value()) return absl::StrCat(diagnostic.file, ": ", diagnostic.message);
  return absl::StrCat(diagnostic.file, ":", *diagnostic.line, ": ", diagnostic.message);
}

}  // namespace

absl::StatusOr<AdmissionReport> RunAdmission(const PipelineServices& services, const AdmissionJob& job, const nlohmann::json& hardware,
                                             const ScratchFolder& scratch, std::stop_token stop, const PipelineObserver& observer) {
  absl::StatusOr<std::filesystem::path> task_folder = scratch.Make("task");
  if (!task_folder.ok()) return task_folder.status();
  absl::StatusOr<std::filesystem::path> out = scratch.Make("out");
  if (!out.ok()) return out.status();
  if (absl::Status status = WriteSources(*task_folder, job.task.files); !status.ok()) return status;

  RoleRequest request;
  request.role = Role::kAdmit;
  request.job = CommonJob(job.task, job.seed, hardware);
  request.folders = {{{"task", "dir"}, {*task_folder, "/task", Mount::Access::kRead}},
                     {{"out_dir"}, {*out, "/out", Mount::Access::kWrite}}};
  request.written = *out;
  request.deadline = services.options.stage_deadline;
  request.stop = stop;
  request.on_progress = [&](const RunnerProgress& progress) {
    if (observer.on_progress) observer.on_progress(Stage::kTest, progress);
  };
  absl::StatusOr<RoleVerdict> verdict =
      RunTrusted(services.runner, services.gate, ExecutionGate::Use::kShared, request, OnTaskFault::kVerdict);
  if (!verdict.ok()) return verdict.status();

  AdmissionReport report;
  report.admitted = verdict->passed;
  for (const Diagnostic& diagnostic : verdict->diagnostics) {
    report.findings.push_back({ToLevel(diagnostic.severity), diagnostic.class_name, diagnostic.case_name, Located(diagnostic)});
    if (diagnostic.severity == Severity::kError) report.admitted = false;
  }
  if (!report.admitted && verdict->diagnostics.empty()) {
    report.findings.push_back({AdmissionFinding::Level::kFail, "admission", "", verdict->reason});
  }
  return report;
}

}  // namespace maxkernel::eval
