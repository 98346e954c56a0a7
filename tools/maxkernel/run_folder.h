#ifndef MAXKERNEL_TOOLS_MAXKERNEL_RUN_FOLDER_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_RUN_FOLDER_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/journal.h"
#include "maxkernel/search.h"

namespace maxkernel {

// The folder of a run: specification.json (what to do; also the journal's first event), run.db (the journal), result.json (once it has
// ended), evald/ (a private daemon's state).
class RunFolder {
 public:
  // Makes the folder and checks that it can be written. AlreadyExists if it holds a run.
  static absl::StatusOr<RunFolder> Create(const std::filesystem::path& path);
  // NotFound if there is no run.
  static absl::StatusOr<RunFolder> Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path journal_file() const { return path_ / "run.db"; }
  std::filesystem::path specification_file() const { return path_ / "specification.json"; }
  std::filesystem::path result_file() const { return path_ / "result.json"; }
  std::filesystem::path daemon_folder() const { return path_ / "evald"; }

  // Removes the result of an earlier start, and sets disk space aside, so that the next one can be written even when the disk fills up.
  void PrepareResult() const;
  // Replaces the file as a whole. Gives the reserved space free first.
  absl::Status WriteResult(std::string_view text) const;

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path reserve_file() const { return path_ / "result.json.reserve"; }

  std::filesystem::path path_;
};

// "runs/softmax-20260131-235959"
std::filesystem::path DefaultRunFolder(std::string_view task_name, absl::Time now);

// What is in the journal of a run, read while another process may be writing it.
absl::StatusOr<RunSummary> ReadRunFolder(const std::filesystem::path& path);

// Writes a file as a whole or not at all.
absl::Status WriteFile(const std::filesystem::path& path, std::string_view text);
absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_RUN_FOLDER_H_
