#ifndef MAXKERNEL_LIB_EVAL_DAEMON_LOG_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_LOG_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maxkernel/internal/mutex.h"

namespace maxkernel::eval {

// Writes one JSON object per line: {"time": ..., "event": ..., fields...}.
// Thread-safe.
class Log {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  // `write` gets whole lines, one call at a time. Empty: nothing is written.
  explicit Log(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

  void Write(std::string_view event, const Fields& fields);

 private:
  internal::Mutex mutex_;
  const std::function<void(std::string_view)> write_;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_LOG_H_
