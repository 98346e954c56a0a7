#ifndef MAXKERNEL_LIB_EVAL_DAEMON_STATE_FOLDER_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_STATE_FOLDER_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/eval/daemon/file_descriptor.h"
#include "maxkernel/candidate.h"

namespace maxkernel::eval {

// A folder that is removed, whatever permissions its contents were given, with this object.
class ScratchFolder {
 public:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Makes a folder in it.
  absl::StatusOr<std::filesystem::path> Make(std::string_view name) const;

 private:
  std::filesystem::path path_;
};

// The daemon's folder on disk: locked against a second daemon, with scratch space that starts empty.
// Thread-safe.
class StateFolder {
 public:
  // FailedPrecondition if another daemon holds it; PermissionDenied and the like if it cannot be made or written.
  static absl::StatusOr<std::unique_ptr<StateFolder>> Open(const std::filesystem::path& path);

  absl::StatusOr<std::unique_ptr<ScratchFolder>> MakeScratch();
  std::filesystem::path results() const { return path_ / "results"; }
  std::filesystem::path references() const { return path_ / "references"; }

 private:
  StateFolder(std::filesystem::path path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  FileDescriptor lock_;
  std::atomic<std::uint64_t> next_scratch_ = 1;
};

absl::Status MakeFolder(const std::filesystem::path& path);
// Writes source files under `folder`. Their paths have been checked by Candidate::Create.
absl::Status WriteSources(const std::filesystem::path& folder, const std::vector<SourceFile>& files);
// So that either the old or the whole new content is there, even after a power failure.
absl::Status WriteDurably(const std::filesystem::path& file, std::string_view bytes);
absl::StatusOr<std::string> ReadFile(const std::filesystem::path& file);
// Makes what is below `folder` durable.
absl::Status SyncTree(const std::filesystem::path& folder);
// Removes a tree even if permissions were taken away.
void RemoveTree(const std::filesystem::path& folder);
// Leaves only regular files directly in `folder`, readable; everything else is removed. For folders that candidate code wrote.
absl::Status KeepRegularFiles(const std::filesystem::path& folder);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_STATE_FOLDER_H_
