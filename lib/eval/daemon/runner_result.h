#ifndef MAXKERNEL_LIB_EVAL_DAEMON_RUNNER_RESULT_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_RUNNER_RESULT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/evaluation.h"

namespace maxkernel::eval {

enum class Role : std::uint8_t { kReference, kAuthor, kTest, kCompile, kMeasure, kAdmit, kProbe };
std::string_view ToString(Role role);

struct RunnerProgress {
  std::string message;
  std::string case_name;
};

using RunnerFact = std::variant<double, std::string>;

struct RunnerCase {
  CaseResult result;  // `hidden` is not the runner's to say
  std::string status;
  std::map<std::string, std::string> notes;  // facts that are texts
};

// The last frame of a runner process, as docs/reference/runner-protocol.md describes it.
struct RunnerResult {
  enum class Status : std::uint8_t { kPassed, kFailed, kTaskFailed, kInfraFailed };
  Status status = Status::kPassed;
  std::optional<Verdict> verdict;  // for kFailed; never kCorrect
  std::string reason;
  std::vector<Diagnostic> diagnostics;
  std::vector<RunnerCase> cases;
  std::map<std::string, RunnerFact> facts;
  std::string identity;
  std::map<std::string, std::string> environment;
  std::map<std::string, absl::Duration> timing;
};

// A frame that is either. InvalidArgument, naming the field and what was expected, for anything malformed, for another role than
// `role`, for a time that is not positive, or for one beyond the protocol's sizes.
absl::StatusOr<std::variant<RunnerProgress, RunnerResult>> ParseRunnerFrame(std::string_view json, Role role);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_RUNNER_RESULT_H_
