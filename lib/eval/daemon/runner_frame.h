#ifndef MAXKERNEL_LIB_EVAL_DAEMON_RUNNER_FRAME_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_RUNNER_FRAME_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace maxkernel::eval {

// The payload preceded by its length as a 4-byte big-endian number.
std::string EncodeFrame(std::string_view payload);

// Cuts a stream of bytes into frames. Not thread-safe.
class FrameDecoder {
 public:
  explicit FrameDecoder(std::size_t limit) : limit_(limit) {}

  void Append(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole frame's payload; nullopt if more bytes are needed. InvalidArgument, from then on, for a frame beyond the limit.
  absl::StatusOr<std::optional<std::string>> Next();
  // Bytes of an unfinished frame.
  std::size_t pending() const { return buffer_.size() - position_; }

 private:
  std::size_t limit_;
  std::string buffer_;
  std::size_t position_ = 0;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_RUNNER_FRAME_H_
