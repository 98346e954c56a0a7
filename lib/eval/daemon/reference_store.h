#ifndef MAXKERNEL_LIB_EVAL_DAEMON_REFERENCE_STORE_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_REFERENCE_STORE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "maxkernel/internal/mutex.h"

namespace maxkernel::eval {

// Folders that are computed once and then kept on disk: a task's reference outputs. The least recently used are removed beyond a
// size.
// Thread-safe.
class ReferenceStore {
 public:
  // Fills the given folder.
  using Compute = std::function<absl::Status(const std::filesystem::path& folder)>;
  // A pinned folder: not removed while this is held.
  using Pin = std::shared_ptr<const std::filesystem::path>;

  // `root` exists. Counts what is there.
  ReferenceStore(std::filesystem::path root, std::uint64_t limit_bytes);

  // The folder for `key` (a file name), from disk, from a computation that another caller runs at the moment, or from `compute`.
  // Its error goes to all who wait for it, and nothing is kept. Cancelled once `stop` is requested, for a caller that waits.
  absl::StatusOr<Pin> Get(const std::string& key, std::stop_token stop, const Compute& compute);

 private:
  struct Computation {
    bool finished = false;
    absl::Status status;
  };

  std::optional<Pin> Find(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ComputeAndKeep(const std::string& key, const Compute& compute);
  void Trim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::filesystem::path root_;
  const std::uint64_t limit_bytes_;
  internal::Mutex mutex_;
  internal::ConditionVariable changed_;
  std::map<std::string, std::shared_ptr<Computation>> running_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<const std::filesystem::path>> pins_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_REFERENCE_STORE_H_
