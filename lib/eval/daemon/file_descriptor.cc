#include "lib/eval/daemon/file_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::eval {
namespace {

constexpr int kFirstNumber = 10;

absl::StatusOr<FileDescriptor> MoveUp(FileDescriptor descriptor) {
  if (descriptor.get() >= kFirstNumber) return descriptor;
  const int moved = ::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kFirstNumber);
  if (moved < 0) return ErrnoStatus("duplicate a descriptor", errno);
  return FileDescriptor(moved);
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    Close();
    value_ = std::exchange(other.value_, -1);
  }
  return *this;
}

void FileDescriptor::Close() {
  if (value_ >= 0) ::close(std::exchange(value_, -1));
}

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus("make a pipe", errno);
  FileDescriptor read(ends[0]);
  FileDescriptor write(ends[1]);
  absl::StatusOr<FileDescriptor> read_up = MoveUp(std::move(read));
  if (!read_up.ok()) return read_up.status();
  absl::StatusOr<FileDescriptor> write_up = MoveUp(std::move(write));
  if (!write_up.ok()) return write_up.status();
  return Pipe{std::move(*read_up), std::move(*write_up)};
}

absl::Status SetNonBlocking(const FileDescriptor& descriptor) {
  const int flags = ::fcntl(descriptor.get(), F_GETFL);
  if (flags < 0 || ::fcntl(descriptor.get(), F_SETFL, flags | O_NONBLOCK) != 0) return ErrnoStatus("make a pipe non-blocking", errno);
  return absl::OkStatus();
}

absl::Status ErrnoStatus(std::string_view what, int error_number) {
  const std::string message =
      absl::StrCat(internal::ToAbsl(what), ": ", std::error_code(error_number, std::generic_category()).message());
  switch (error_number) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

}  // namespace maxkernel::eval
