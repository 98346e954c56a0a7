#ifndef MAXKERNEL_REPORT_RESULT_FILE_H_
#define MAXKERNEL_REPORT_RESULT_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "maxkernel/search.h"
#include "maxkernel/task.h"

namespace maxkernel {

// What every run ends with, success or failure; schema: share/schema/result.schema.json.
// `status` is the run's end: OK for any normal end. `task` may be null when it could not be loaded. The text ends with a newline and
// is the same for the same journal.
std::string ResultJson(const RunSummary& run, const Task* task, const absl::Status& status);

// A unified diff of two texts, as `diff -u` prints it with three lines of context; empty if they are equal.
std::string UnifiedDiff(std::string_view before, std::string_view after, std::string_view before_name,
                        std::string_view after_name);

}  // namespace maxkernel

#endif  // MAXKERNEL_REPORT_RESULT_FILE_H_
