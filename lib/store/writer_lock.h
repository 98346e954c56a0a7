#ifndef MAXKERNEL_LIB_STORE_WRITER_LOCK_H_
#define MAXKERNEL_LIB_STORE_WRITER_LOCK_H_

#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace maxkernel::store {

// An exclusive operating-system lock on a side file, held for the object's life. It ends with the process, however that ends. The side
// file holds the process's id, for other processes' error messages, and is removed on release.
//
// The lock is on a side file, not on the database: closing any descriptor of the database would drop the POSIX locks that SQLite holds
// on it.
class WriterLock {
 public:
  // FailedPrecondition ("in use by process 123") if another writer, in this process or another, holds it; NotFound, PermissionDenied or
  // ResourceExhausted if the side file cannot be made.
  static absl::StatusOr<WriterLock> Take(const std::filesystem::path& database);

  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();

 private:
  WriterLock(int descriptor, std::filesystem::path file) : descriptor_(descriptor), file_(std::move(file)) {}

  int descriptor_;
  std::filesystem::path file_;
};

// An errno value as a Status.
absl::Status SystemError(int error, std::string_view attempt);

}  // namespace maxkernel::store

#endif  // MAXKERNEL_LIB_STORE_WRITER_LOCK_H_
