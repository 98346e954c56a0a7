#ifndef MAXKERNEL_LIB_EVAL_DAEMON_RESULT_CACHE_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_RESULT_CACHE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/eval/daemon/job_queue.h"

namespace maxkernel::eval {

// Finished answers on disk, by idempotency key and by what was asked for. An answer that Store accepted survives the death of the daemon
// and of the machine.
// Thread-safe: readers and writers of one key see the old or the new answer.
class ResultCache {
 public:
  // `folder` exists.
  explicit ResultCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // With from_cache set. InvalidArgument: the key was used for a request with another fingerprint.
  absl::StatusOr<std::optional<JobAnswer>> FindByKey(std::string_view key, std::string_view fingerprint) const;
  std::optional<JobAnswer> FindByContent(std::string_view content) const;

  // `content` may be empty: not to be found by it.
  absl::Status Store(std::string_view key, std::string_view fingerprint, std::string_view content, const JobAnswer& answer);

 private:
  std::filesystem::path FileFor(std::string_view kind, std::string_view key) const;

  const std::filesystem::path folder_;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_RESULT_CACHE_H_
