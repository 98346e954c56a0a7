#ifndef MAXKERNEL_TASK_LOAD_TASK_H_
#define MAXKERNEL_TASK_LOAD_TASK_H_

#include <filesystem>

#include "absl/status/statusor.h"
#include "maxkernel/task.h"

namespace maxkernel {

// Loads a task folder: task.yaml, or the kernel_task.yaml layout of the reference system.
// NotFound if the folder or a named file is missing; InvalidArgument, with file, line and field, for anything malformed; an unknown
// key is an error that names the nearest known one.
absl::StatusOr<Task> LoadTask(const std::filesystem::path& folder);

}  // namespace maxkernel

#endif  // MAXKERNEL_TASK_LOAD_TASK_H_
