#include "lib/eval/wire/evaluation_conversion.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/check.h"

namespace maxkernel::eval {
namespace {

// Values and messages number their enums in the same order, messages from 1.
template <typename Message, typename Value>
Message EnumToProto(Value value) {
  return static_cast<Message>(static_cast<int>(value) + 1);
}

template <typename Value, typename Message>
absl::StatusOr<Value> EnumFromProto(Message message, int count, const char* name) {
  const int number = static_cast<int>(message) - 1;
  if (number < 0 || number >= count) {
    return absl::InvalidArgumentError(absl::StrCat("message field ", name, ": ", static_cast<int>(message), " is no value of it"));
  }
  return static_cast<Value>(number);
}

static_assert(v1::FIDELITY_DEVICE == static_cast<int>(Fidelity::kDevice) + 1);
static_assert(v1::STAGE_PROFILE == static_cast<int>(Stage::kProfile) + 1);
static_assert(v1::STAGE_STATUS_SKIPPED == static_cast<int>(StageStatus::kSkipped) + 1);
static_assert(v1::VERDICT_REJECTED == static_cast<int>(Verdict::kRejected) + 1);
static_assert(v1::SEVERITY_NOTE == static_cast<int>(Severity::kNote) + 1);
static_assert(v1::ADMISSION_LEVEL_FAIL == static_cast<int>(AdmissionFinding::Level::kFail) + 1);

void DiagnosticToProto(const Diagnostic& diagnostic, v1::Diagnostic& message) {
  message.set_severity(EnumToProto<v1::Severity>(diagnostic.severity));
  message.set_class_name(diagnostic.class_name);
  message.set_message(diagnostic.message);
  message.set_file(diagnostic.file);
  if (diagnostic.line.has_value()) message.set_line(*diagnostic.line);
  message.set_case_name(diagnostic.case_name);
  message.set_hint(diagnostic.hint);
}

absl::StatusOr<Diagnostic> DiagnosticFromProto(const v1::Diagnostic& message) {
  absl::StatusOr<Severity> severity = EnumFromProto<Severity>(message.severity(), v1::Severity_ARRAYSIZE - 1, "severity");
  if (!severity.ok()) return severity.status();
  Diagnostic diagnostic;
  diagnostic.severity = *severity;
  diagnostic.class_name = message.class_name();
  diagnostic.message = message.message();
  diagnostic.file = message.file();
  if (message.has_line()) diagnostic.line = message.line();
  diagnostic.case_name = message.case_name();
  diagnostic.hint = message.hint();
  return diagnostic;
}

void CaseToProto(const CaseResult& result, v1::CaseResult& message) {
  message.set_name(result.name);
  message.set_hidden(result.hidden);
  if (result.max_abs_error.has_value()) message.set_max_abs_error(*result.max_abs_error);
  if (result.max_rel_error.has_value()) message.set_max_rel_error(*result.max_rel_error);
  message.mutable_samples_seconds()->Add(result.samples_seconds.begin(), result.samples_seconds.end());
  if (result.floor_seconds.has_value()) message.set_floor_seconds(*result.floor_seconds);
  message.set_absent(result.absent);
  message.mutable_facts()->insert(result.facts.begin(), result.facts.end());
}

absl::StatusOr<CaseResult> CaseFromProto(const v1::CaseResult& message) {
  CaseResult result;
  result.name = message.name();
  result.hidden = message.hidden();
  if (message.has_max_abs_error()) result.max_abs_error = message.max_abs_error();
  if (message.has_max_rel_error()) result.max_rel_error = message.max_rel_error();
  for (const double sample : message.samples_seconds()) {
    if (!std::isfinite(sample) || sample <= 0) {
      return absl::InvalidArgumentError(absl::StrCat("message field samples_seconds: ", sample, " is no time"));
    }
    result.samples_seconds.push_back(sample);
  }
  if (message.has_floor_seconds()) result.floor_seconds = message.floor_seconds();
  result.absent = message.absent();
  result.facts.insert(message.facts().begin(), message.facts().end());
  return result;
}

}  // namespace

v1::Fidelity ToProto(Fidelity fidelity) { return EnumToProto<v1::Fidelity>(fidelity); }

absl::StatusOr<Fidelity> FromProto(v1::Fidelity fidelity) {
  return EnumFromProto<Fidelity>(fidelity, v1::Fidelity_ARRAYSIZE - 1, "fidelity");
}

v1::Stage ToProto(Stage stage) { return EnumToProto<v1::Stage>(stage); }

absl::StatusOr<Stage> FromProto(v1::Stage stage) { return EnumFromProto<Stage>(stage, v1::Stage_ARRAYSIZE - 1, "stage"); }

void ToProto(const StageReport& report, v1::StageReport& message) {
  message.set_stage(ToProto(report.stage));
  message.set_status(EnumToProto<v1::StageStatus>(report.status));
  ToProto(report.duration, *message.mutable_duration());
  for (const Diagnostic& diagnostic : report.diagnostics) DiagnosticToProto(diagnostic, *message.add_diagnostics());
}

absl::StatusOr<StageReport> FromProto(const v1::StageReport& message) {
  absl::StatusOr<Stage> stage = FromProto(message.stage());
  if (!stage.ok()) return stage.status();
  absl::StatusOr<StageStatus> status = EnumFromProto<StageStatus>(message.status(), v1::StageStatus_ARRAYSIZE - 1, "status");
  if (!status.ok()) return status.status();
  StageReport report{*stage, *status, FromProto(message.duration()), {}};
  for (const v1::Diagnostic& entry : message.diagnostics()) {
    absl::StatusOr<Diagnostic> diagnostic = DiagnosticFromProto(entry);
    if (!diagnostic.ok()) return diagnostic.status();
    report.diagnostics.push_back(std::move(*diagnostic));
  }
  return report;
}

void ToProto(const Evaluation& evaluation, v1::Evaluation& message) {
  message.set_fidelity(ToProto(evaluation.fidelity));
  message.set_verdict(EnumToProto<v1::Verdict>(evaluation.verdict));
  message.set_reason(evaluation.reason);
  for (const StageReport& report : evaluation.stages) ToProto(report, *message.add_stages());
  for (const CaseResult& result : evaluation.cases) CaseToProto(result, *message.add_cases());
  message.set_identity(evaluation.identity);
  message.mutable_environment()->insert(evaluation.environment.begin(), evaluation.environment.end());
  message.mutable_facts()->insert(evaluation.facts.begin(), evaluation.facts.end());
  ToProto(evaluation.device_time, *message.mutable_device_time());
  message.set_from_cache(evaluation.from_cache);
}

absl::StatusOr<Evaluation> FromProto(const v1::Evaluation& message) {
  absl::StatusOr<Fidelity> fidelity = FromProto(message.fidelity());
  if (!fidelity.ok()) return fidelity.status();
  absl::StatusOr<Verdict> verdict = EnumFromProto<Verdict>(message.verdict(), v1::Verdict_ARRAYSIZE - 1, "verdict");
  if (!verdict.ok()) return verdict.status();
  Evaluation evaluation;
  evaluation.fidelity = *fidelity;
  evaluation.verdict = *verdict;
  evaluation.reason = message.reason();
  for (const v1::StageReport& entry : message.stages()) {
    absl::StatusOr<StageReport> report = FromProto(entry);
    if (!report.ok()) return report.status();
    evaluation.stages.push_back(std::move(*report));
  }
  for (const v1::CaseResult& entry : message.cases()) {
    absl::StatusOr<CaseResult> result = CaseFromProto(entry);
    if (!result.ok()) return result.status();
    evaluation.cases.push_back(std::move(*result));
  }
  evaluation.identity = message.identity();
  evaluation.environment.insert(message.environment().begin(), message.environment().end());
  evaluation.facts.insert(message.facts().begin(), message.facts().end());
  evaluation.device_time = FromProto(message.device_time());
  evaluation.from_cache = message.from_cache();
  return evaluation;
}

void ToProto(const AdmissionReport& report, v1::AdmissionReport& message) {
  message.set_admitted(report.admitted);
  for (const AdmissionFinding& finding : report.findings) {
    v1::AdmissionFinding& entry = *message.add_findings();
    entry.set_level(EnumToProto<v1::AdmissionLevel>(finding.level));
    entry.set_check(finding.check);
    entry.set_case_name(finding.case_name);
    entry.set_message(finding.message);
  }
  message.set_from_cache(report.from_cache);
}

absl::StatusOr<AdmissionReport> FromProto(const v1::AdmissionReport& message) {
  AdmissionReport report;
  report.admitted = message.admitted();
  for (const v1::AdmissionFinding& entry : message.findings()) {
    absl::StatusOr<AdmissionFinding::Level> level =
        EnumFromProto<AdmissionFinding::Level>(entry.level(), v1::AdmissionLevel_ARRAYSIZE - 1, "level");
    if (!level.ok()) return level.status();
    report.findings.push_back({*level, entry.check(), entry.case_name(), entry.message()});
  }
  report.from_cache = message.from_cache();
  return report;
}

void ToProto(const std::vector<SourceFile>& files, google::protobuf::RepeatedPtrField<v1::SourceFile>& messages) {
  for (const SourceFile& file : files) {
    v1::SourceFile& message = *messages.Add();
    message.set_path(file.path);
    message.set_text(file.text);
  }
}

std::vector<SourceFile> FromProto(const google::protobuf::RepeatedPtrField<v1::SourceFile>& messages) {
  std::vector<SourceFile> files;
  for (const v1::SourceFile& message : messages) files.push_back({message.path(), message.text()});
  return files;
}

void ToProto(absl::Duration duration, google::protobuf::Duration& message) {
  const std::int64_t seconds = absl::IDivDuration(duration, absl::Seconds(1), &duration);
  message.set_seconds(seconds);
  message.set_nanos(static_cast<std::int32_t>(absl::ToInt64Nanoseconds(duration)));
}

absl::Duration FromProto(const google::protobuf::Duration& message) {
  return absl::Seconds(message.seconds()) + absl::Nanoseconds(message.nanos());
}

}  // namespace maxkernel::eval
