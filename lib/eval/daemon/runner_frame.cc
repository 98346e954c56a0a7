#include "lib/eval/daemon/runner_frame.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/check.h"

namespace maxkernel::eval {
namespace {

constexpr std::size_t kHeaderSize = 4;
constexpr std::size_t kCompactionSize = 1 << 16;

std::uint32_t DecodeLength(const char* bytes) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < kHeaderSize; ++i) length = (length << 8) | static_cast<unsigned char>(bytes[i]);
  return length;
}

}  // namespace

std::string EncodeFrame(std::string_view payload) {
  MAXKERNEL_CHECK(payload.size() <= UINT32_MAX);
  const auto length = static_cast<std::uint32_t>(payload.size());
  std::string frame;
  frame.reserve(kHeaderSize + payload.size());
  for (int shift = 24; shift >= 0; shift -= 8) frame.push_back(static_cast<char>((length >> shift) & 0xff));
  frame.append(payload);
  return frame;
}

absl::StatusOr<std::optional<std::string>> FrameDecoder::Next() {
  if (pending() < kHeaderSize) return std::nullopt;
  const std::uint32_t length = DecodeLength(buffer_.data() + position_);
  if (length > limit_) {
    return absl::InvalidArgumentError(absl::StrCat("a frame of ", length, " bytes; at most ", limit_, " are allowed"));
  }
  if (pending() < kHeaderSize + length) return std::nullopt;
  std::string payload = buffer_.substr(position_ + kHeaderSize, length);
  position_ += kHeaderSize + length;
  if (position_ == buffer_.size() || position_ > kCompactionSize) {
    buffer_.erase(0, position_);
    position_ = 0;
  }
  return payload;
}

}  // namespace maxkernel::eval
