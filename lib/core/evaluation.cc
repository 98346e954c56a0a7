#include "maxkernel/evaluation.h"

#include <array>
#include <utility>

namespace maxkernel {
namespace {

template <typename Enum, std::size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<Fidelity, 6> kFidelities{{{Fidelity::kInterpret, "interpret"},
                                          {Fidelity::kLower, "lower"},
                                          {Fidelity::kAot, "aot"},
                                          {Fidelity::kEstimate, "estimate"},
                                          {Fidelity::kCpu, "cpu"},
                                          {Fidelity::kDevice, "device"}}};
constexpr Names<Stage, 5> kStages{{{Stage::kValidate, "validate"},
                                   {Stage::kCompile, "compile"},
                                   {Stage::kTest, "test"},
                                   {Stage::kMeasure, "measure"},
                                   {Stage::kProfile, "profile"}}};
constexpr Names<StageStatus, 3> kStageStatuses{
    {{StageStatus::kPassed, "passed"}, {StageStatus::kFailed, "failed"}, {StageStatus::kSkipped, "skipped"}}};
constexpr Names<Verdict, 6> kVerdicts{{{Verdict::kCorrect, "correct"},
                                       {Verdict::kIncorrect, "incorrect"},
                                       {Verdict::kDoesNotCompile, "does_not_compile"},
                                       {Verdict::kCrashed, "crashed"},
                                       {Verdict::kTimedOut, "timed_out"},
                                       {Verdict::kRejected, "rejected"}}};
constexpr Names<Severity, 3> kSeverities{
    {{Severity::kError, "error"}, {Severity::kWarning, "warning"}, {Severity::kNote, "note"}}};

template <typename Enum, std::size_t N>
std::string_view NameOf(const Names<Enum, N>& names, Enum value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

template <typename Enum, std::size_t N>
std::optional<Enum> ValueOf(const Names<Enum, N>& names, std::string_view name) {
  for (const auto& [value, known] : names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view ToString(Fidelity fidelity) { return NameOf(kFidelities, fidelity); }
std::string_view ToString(Stage stage) { return NameOf(kStages, stage); }
std::string_view ToString(StageStatus status) { return NameOf(kStageStatuses, status); }
std::string_view ToString(Verdict verdict) { return NameOf(kVerdicts, verdict); }
std::string_view ToString(Severity severity) { return NameOf(kSeverities, severity); }

std::optional<Fidelity> ParseFidelity(std::string_view name) { return ValueOf(kFidelities, name); }
std::optional<Stage> ParseStage(std::string_view name) { return ValueOf(kStages, name); }
std::optional<StageStatus> ParseStageStatus(std::string_view name) { return ValueOf(kStageStatuses, name); }
std::optional<Verdict> ParseVerdict(std::string_view name) { return ValueOf(kVerdicts, name); }
std::optional<Severity> ParseSeverity(std::string_view name) { return ValueOf(kSeverities, name); }

}  // namespace maxkernel
