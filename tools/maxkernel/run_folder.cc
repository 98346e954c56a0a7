#include "tools/maxkernel/run_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "maxkernel/store/sqlite_journal.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

constexpr off_t kReservedBytes = 1 << 20;

absl::Status FileError(std::string_view action, const fs::path& path, int error) {
  const std::string message =
      absl::StrCat(std::string(action), " ", path.string(), ": ", std::generic_category().message(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM || error == EROFS) return absl::PermissionDeniedError(message);
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(message);
  return absl::UnavailableError(message);
}

// 0 or an errno value.
int WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(descriptor) == 0 ? 0 : errno;
}

}  // namespace

absl::Status WriteFile(const fs::path& path, std::string_view text) {
  fs::path temporary = path;
  temporary += ".part";
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return FileError("write", path, errno);
  int error = WriteAll(descriptor, text);
  ::close(descriptor);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  ::unlink(temporary.c_str());
  return FileError("write", path, error);
}

absl::StatusOr<std::string> ReadFile(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return absl::InvalidArgumentError(absl::StrCat("read ", path.string(), ": it is a folder; expected a file"));
  std::ifstream file(path, std::ios::binary);
  if (!file) return FileError("read", path, errno == 0 ? EIO : errno);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return FileError("read", path, EIO);
  return text;
}

absl::StatusOr<RunFolder> RunFolder::Create(const fs::path& path) {
  RunFolder folder(fs::absolute(path).lexically_normal());
  std::error_code error;
  fs::create_directories(folder.path_, error);
  if (error) {
    const absl::Status status = FileError("make the run folder", path, error.value());
    if (status.code() != absl::StatusCode::kNotFound) return status;
    return absl::InvalidArgumentError(absl::StrCat(std::string(status.message()), "; a part of the path is a file, expected a folder"));
  }
  if (fs::exists(folder.journal_file(), error) || fs::exists(folder.specification_file(), error)) {
    return absl::AlreadyExistsError(absl::StrCat("run folder ", path.string(), ": it holds a run already; continue that with 'maxkernel resume ",
                                                 path.string(), "', or give another folder with --run"));
  }
  // Root may write where the mode forbids it, and a file system may be read-only: only a try tells.
  if (absl::Status status = WriteFile(folder.path_ / ".writable", ""); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat("run folder ", path.string(), ": it cannot be written: ", std::string(status.message()),
                                                    "; give another folder with --run"));
  }
  fs::remove(folder.path_ / ".writable", error);
  return folder;
}

absl::StatusOr<RunFolder> RunFolder::Open(const fs::path& path) {
  RunFolder folder(fs::absolute(path).lexically_normal());
  std::error_code error;
  if (!fs::exists(folder.journal_file(), error) && !fs::exists(folder.specification_file(), error)) {
    return absl::NotFoundError(absl::StrCat("run folder ", path.string(), ": there is no run in it; expected the folder of a run, as "
                                            "'maxkernel optimize' prints it"));
  }
  return folder;
}

void RunFolder::PrepareResult() const {
  ::unlink(result_file().c_str());
  // Best effort: where there is no space even now, the run ends soon anyway.
  const int descriptor = ::open(reserve_file().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return;
  if (::posix_fallocate(descriptor, 0, kReservedBytes) != 0) ::unlink(reserve_file().c_str());
  ::close(descriptor);
}

absl::Status RunFolder::WriteResult(std::string_view text) const {
  ::unlink(reserve_file().c_str());
  return WriteFile(result_file(), text);
}

fs::path DefaultRunFolder(std::string_view task_name, absl::Time now) {
  return fs::path("runs") / absl::StrCat(std::string(task_name), "-", absl::FormatTime("%Y%m%d-%H%M%S", now, absl::LocalTimeZone()));
}

absl::StatusOr<RunSummary> ReadRunFolder(const fs::path& path) {
  const absl::StatusOr<RunFolder> folder = RunFolder::Open(path);
  if (!folder.ok()) return folder.status();
  const absl::StatusOr<std::unique_ptr<Journal>> journal =
      OpenSqliteJournal(folder->journal_file(), {.mode = SqliteJournalOptions::Mode::kReadOnly});
  if (!journal.ok()) return journal.status();
  absl::StatusOr<RunSummary> run = ReadRun(**journal);
  if (run.ok() && !run->started) {
    return absl::FailedPreconditionError(absl::StrCat("run folder ", path.string(), ": the run has not begun yet; start it with 'maxkernel resume ",
                                                       path.string(), "'"));
  }
  return run;
}

}  // namespace maxkernel
