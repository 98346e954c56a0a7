#include "lib/store/writer_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::store {
namespace {

std::string HolderOf(int descriptor) {
  std::array<char, 32> buffer{};
  const ssize_t size = pread(descriptor, buffer.data(), buffer.size(), 0);
  if (size <= 0) return "another process";
  const std::string text(absl::StripAsciiWhitespace(absl::string_view(buffer.data(), static_cast<std::size_t>(size))));
  return absl::StrCat("process ", text);
}

// Whether `file` is still what `descriptor` has open: its holder may have removed it between our open and our lock.
bool IsSameFile(int descriptor, const std::filesystem::path& file) {
  struct stat open_file {};
  struct stat named_file {};
  return fstat(descriptor, &open_file) == 0 && stat(file.c_str(), &named_file) == 0 && open_file.st_ino == named_file.st_ino &&
         open_file.st_dev == named_file.st_dev;
}

}  // namespace

absl::Status SystemError(int error, std::string_view attempt) {
  const std::string message = absl::StrCat(internal::ToAbsl(attempt), ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

absl::StatusOr<WriterLock> WriterLock::Take(const std::filesystem::path& database) {
  std::filesystem::path file = database;
  file += ".lock";
  while (true) {
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) return SystemError(errno, absl::StrCat("locking journal ", database.string(), " by ", file.string()));
    WriterLock lock(descriptor, file);
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = HolderOf(descriptor);
      lock.file_.clear();
      if (error != EWOULDBLOCK) return SystemError(error, absl::StrCat("locking ", file.string()));
      return absl::FailedPreconditionError(
          absl::StrCat("journal ", database.string(), " is in use by ", holder, "; wait for it to end, stop it, or open the journal to read"));
    }
    if (!IsSameFile(descriptor, file)) {
      lock.file_.clear();
      continue;
    }
    const std::string text = absl::StrCat(getpid(), "\n");
    if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      return SystemError(errno, absl::StrCat("writing ", file.string()));
    }
    return lock;
  }
}

WriterLock::WriterLock(WriterLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), file_(std::move(other.file_)) {}

WriterLock::~WriterLock() {
  if (descriptor_ < 0) return;
  // Still locked: nobody can hold the name that goes.
  if (!file_.empty()) unlink(file_.c_str());
  close(descriptor_);
}

}  // namespace maxkernel::store
