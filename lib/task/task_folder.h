#ifndef MAXKERNEL_LIB_TASK_TASK_FOLDER_H_
#define MAXKERNEL_LIB_TASK_TASK_FOLDER_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace maxkernel::task {

// Reads the files of a task's folder. Paths in messages begin with the folder as the caller gave it.
class TaskFolder {
 public:
  // NotFound or InvalidArgument if it is no folder.
  static absl::StatusOr<TaskFolder> Open(const std::filesystem::path& folder);

  bool Has(std::string_view path) const;
  // NotFound, PermissionDenied, or InvalidArgument for what is no file, larger than 16 MiB, or not UTF-8 (with the line).
  absl::StatusOr<std::string> Read(std::string_view path) const;
  std::string Shown(std::string_view path) const;
  const std::filesystem::path& path() const { return folder_; }

 private:
  explicit TaskFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

// Whether Python source binds `name` at column 0: by def, class, assignment or import. Reads lines, not syntax: the runner imports the
// module and has the last word; this gives an early and clear message for the usual mistakes.
bool DefinesAtTopLevel(std::string_view source, std::string_view name);

}  // namespace maxkernel::task

#endif  // MAXKERNEL_LIB_TASK_TASK_FOLDER_H_
