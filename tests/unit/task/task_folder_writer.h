#ifndef MAXKERNEL_TESTS_UNIT_TASK_TASK_FOLDER_WRITER_H_
#define MAXKERNEL_TESTS_UNIT_TASK_TASK_FOLDER_WRITER_H_

#include <fstream>
#include <string>
#include <string_view>

#include "maxkernel/task/load_task.h"
#include "tests/unit/store/temporary_folder.h"

namespace maxkernel {

inline constexpr char kReference[] = "def computation(x):\n    return x\n";
inline constexpr char kInputs[] = "def get_inputs(rng, **params):\n    return (), ()\n";

// A task folder in the making.
class TaskFolderWriter {
 public:
  TaskFolderWriter& Write(const std::string& file, std::string_view text) {
    std::filesystem::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
    return *this;
  }
  // reference.py, inputs.py, and task.yaml with this text.
  TaskFolderWriter& WriteTask(std::string_view yaml) {
    return Write("reference.py", kReference).Write("inputs.py", kInputs).Write("task.yaml", yaml);
  }
  const std::filesystem::path& path() const { return folder_.path(); }

  absl::StatusOr<Task> Load() const { return LoadTask(folder_.path()); }
  // The error's text, without the folder.
  std::string Error(absl::StatusCode code = absl::StatusCode::kInvalidArgument) const {
    const absl::Status status = Load().status();
    std::string text(status.message());
    const std::string prefix = folder_.path().string() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
    return status.code() == code ? text : std::string(absl::StatusCodeToString(status.code())) + ": " + text;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTS_UNIT_TASK_TASK_FOLDER_WRITER_H_
