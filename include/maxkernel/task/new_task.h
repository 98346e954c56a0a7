#ifndef MAXKERNEL_TASK_NEW_TASK_H_
#define MAXKERNEL_TASK_NEW_TASK_H_

#include <filesystem>

#include "absl/status/status.h"

namespace maxkernel {

// Writes a small task that works as it is (a softmax with its reference, inputs and a Pallas baseline), with comments on what to change.
// The folder's own name becomes the task's. Folders above it are made where needed.
// InvalidArgument for a name that no task may have; AlreadyExists, without touching anything, if there is something of this name other than
// an empty folder; NotFound, PermissionDenied or ResourceExhausted if it cannot be written, and then nothing is left behind.
absl::Status NewTask(const std::filesystem::path& folder);

}  // namespace maxkernel

#endif  // MAXKERNEL_TASK_NEW_TASK_H_
