#ifndef MAXKERNEL_LIB_TASK_KERNEL_TASK_LAYOUT_H_
#define MAXKERNEL_LIB_TASK_KERNEL_TASK_LAYOUT_H_

#include "absl/status/statusor.h"
#include "lib/task/task_folder.h"
#include "lib/task/task_settings.h"

namespace maxkernel::task {

// kernel_task.yaml: the layout of the reference system.
absl::StatusOr<TaskSettings> ReadKernelTaskYaml(const TaskFolder& folder, const YamlValue& yaml);

}  // namespace maxkernel::task

#endif  // MAXKERNEL_LIB_TASK_KERNEL_TASK_LAYOUT_H_
