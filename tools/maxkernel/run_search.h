#ifndef MAXKERNEL_TOOLS_MAXKERNEL_RUN_SEARCH_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_RUN_SEARCH_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "maxkernel/journal.h"
#include "tools/maxkernel/evaluator_source.h"
#include "tools/maxkernel/exit_code.h"
#include "tools/maxkernel/run_folder.h"
#include "tools/maxkernel/specification.h"

namespace maxkernel {

struct RunArgs {
  const RunFolder& folder;
  const RunSpecification& specification;
  SearchSettings settings;              // the specification's, with what may change from one start to the next
  EvaluatorChoice evaluator;
  std::unique_ptr<Journal> journal;     // empty, or of a run that was interrupted
  std::uint64_t seed = 0;
  std::optional<Budget> new_budget;     // replaces the run's
  bool json = false;
  bool quiet = false;
};

// Runs a search to its end, with progress; SIGINT drains it, a second one cancels what is in flight, a third one ends the process.
// Writes result.json whatever happens, and prints the summary.
absl::StatusOr<ExitCode> RunSearch(RunArgs args);

// What is left to do for a run that was cut short between its last event and result.json.
absl::StatusOr<ExitCode> FinishEndedRun(const RunArgs& args, const RunSummary& run);

// result.json for a run that could not begin. `task` may be null. Returns `status`.
absl::Status WriteFailure(const RunFolder& folder, const Task* task, const absl::Status& status);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_RUN_SEARCH_H_
