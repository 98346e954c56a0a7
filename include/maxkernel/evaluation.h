// What an evaluator says about a candidate.
#ifndef MAXKERNEL_EVALUATION_H_
#define MAXKERNEL_EVALUATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace maxkernel {

// How a result was obtained. Results of different fidelities are never compared with each other.
enum class Fidelity : std::uint8_t {
  kInterpret,  // TPU interpret mode on a CPU: mathematical correctness
  kLower,      // TPU lowering on a CPU: block shapes, unimplemented operations
  kAot,        // a real TPU compile without a TPU
  kEstimate,   // modelled device time of the traced program
  kCpu,        // wall-clock time of the CPU back end
  kDevice,     // device time from profiler traces
};
enum class Stage : std::uint8_t { kValidate, kCompile, kTest, kMeasure, kProfile };
enum class StageStatus : std::uint8_t { kPassed, kFailed, kSkipped };
// About the candidate: a value, never an error.
enum class Verdict : std::uint8_t { kCorrect, kIncorrect, kDoesNotCompile, kCrashed, kTimedOut, kRejected };
enum class Severity : std::uint8_t { kError, kWarning, kNote };

// The lower-case name used in files, protocols and output: "estimate", "does_not_compile".
std::string_view ToString(Fidelity fidelity);
std::string_view ToString(Stage stage);
std::string_view ToString(StageStatus status);
std::string_view ToString(Verdict verdict);
std::string_view ToString(Severity severity);
// The inverse; nullopt for a name that is none.
std::optional<Fidelity> ParseFidelity(std::string_view name);
std::optional<Stage> ParseStage(std::string_view name);
std::optional<StageStatus> ParseStageStatus(std::string_view name);
std::optional<Verdict> ParseVerdict(std::string_view name);
std::optional<Severity> ParseSeverity(std::string_view name);

// One machine-readable finding.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string class_name;   // e.g. "mosaic_vmem_oom"; from the table of error patterns
  std::string message;      // the tool's own message, trimmed to what matters
  std::string file;         // in the candidate; empty if unknown
  std::optional<std::int32_t> line;  // from 1
  std::string case_name;    // empty if it concerns all cases
  std::string hint;         // what to do about it; may be empty

  bool operator==(const Diagnostic&) const = default;
};

struct StageReport {
  Stage stage = Stage::kValidate;
  StageStatus status = StageStatus::kSkipped;
  absl::Duration duration = absl::ZeroDuration();
  std::vector<Diagnostic> diagnostics;

  bool operator==(const StageReport&) const = default;
};

// The result for one input case. Anything that was not had is absent, never 0.
struct CaseResult {
  std::string name;
  bool hidden = false;                        // not shown to whoever proposes candidates
  std::optional<double> max_abs_error;        // over all elements of all outputs
  std::optional<double> max_rel_error;
  std::vector<double> samples_seconds;        // one per repeat; empty if not timed
  std::optional<double> floor_seconds;        // roofline lower bound from the task's declared work
  std::string absent;                         // why there is no time; empty if there is one
  std::map<std::string, double> facts;        // e.g. "hbm_bytes", "vmem_bytes"

  bool operator==(const CaseResult&) const = default;
};

// A finished evaluation. Stages appear in order; it ends early at the first failing one.
struct Evaluation {
  Fidelity fidelity = Fidelity::kEstimate;    // of the times in `cases`
  Verdict verdict = Verdict::kRejected;
  std::string reason;                         // in words, for any verdict but kCorrect
  std::vector<StageReport> stages;
  std::vector<CaseResult> cases;
  std::string identity;                       // hash of the compiled-from module, locations stripped; empty if there is none
  std::map<std::string, std::string> environment;  // versions, chip, evaluator; what must agree for two results to be comparable
  std::map<std::string, double> facts;
  absl::Duration device_time = absl::ZeroDuration();  // exclusive use of an accelerator
  bool from_cache = false;                    // answered without running anything

  bool operator==(const Evaluation&) const = default;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_EVALUATION_H_
