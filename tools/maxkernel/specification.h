#ifndef MAXKERNEL_TOOLS_MAXKERNEL_SPECIFICATION_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_SPECIFICATION_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "maxkernel/task.h"
#include "tools/maxkernel/settings.h"

namespace maxkernel {

// What RunStarted records: all that a resume needs, the task's files included, so that it does not matter what becomes of the task's
// folder. Secrets are not in it, only where they are read from.
struct RunSpecification {
  std::shared_ptr<const Task> task;
  std::filesystem::path task_folder;     // for people
  std::filesystem::path working_folder;  // that relative paths in the settings start from
  SettingMap settings;
};

std::string SpecificationToJson(const RunSpecification& specification);
// InvalidArgument names the field that is missing or wrong; FailedPrecondition for a later format.
absl::StatusOr<RunSpecification> SpecificationFromJson(std::string_view json);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_SPECIFICATION_H_
