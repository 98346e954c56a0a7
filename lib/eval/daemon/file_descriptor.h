#ifndef MAXKERNEL_LIB_EVAL_DAEMON_FILE_DESCRIPTOR_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_FILE_DESCRIPTOR_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace maxkernel::eval {

// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int value) : value_(value) {}
  FileDescriptor(FileDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { Close(); }

  int get() const { return value_; }
  bool valid() const { return value_ >= 0; }
  void Close();

 private:
  int value_ = -1;
};

// Both ends are close-on-exec and numbered 10 or higher, so that a child's numbers 0 to 9 are free to be assigned.
struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};
absl::StatusOr<Pipe> MakePipe();

absl::Status SetNonBlocking(const FileDescriptor& descriptor);

// "open /x: No such file or directory", with the code that fits the errno.
absl::Status ErrnoStatus(std::string_view what, int error_number);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_FILE_DESCRIPTOR_H_
