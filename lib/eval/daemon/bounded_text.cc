#include "lib/eval/daemon/bounded_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace maxkernel::eval {
namespace {

// The length of the UTF-8 sequence at the start of `text`, or 0 if there is none.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xc2 && byte(0) <= 0xdf) return continues(1) ? 2 : 0;
  if (byte(0) >= 0xe0 && byte(0) <= 0xef) {
    if (!continues(1) || !continues(2)) return 0;
    if (byte(0) == 0xe0 && byte(1) < 0xa0) return 0;
    if (byte(0) == 0xed && byte(1) > 0x9f) return 0;
    return 3;
  }
  if (byte(0) >= 0xf0 && byte(0) <= 0xf4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (byte(0) == 0xf0 && byte(1) < 0x90) return 0;
    if (byte(0) == 0xf4 && byte(1) > 0x8f) return 0;
    return 4;
  }
  return 0;
}

}  // namespace

void BoundedText::Append(std::string_view bytes) {
  size_ += bytes.size();
  const std::size_t to_head = std::min(bytes.size(), head_limit_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  tail_.append(bytes.substr(to_head));
  if (tail_.size() > 2 * tail_limit_) tail_.erase(0, tail_.size() - tail_limit_);
}

std::string BoundedText::Text() const {
  const std::string_view tail =
      tail_.size() > tail_limit_ ? std::string_view(tail_).substr(tail_.size() - tail_limit_) : std::string_view(tail_);
  const std::uint64_t left_out = size_ - head_.size() - tail.size();
  if (left_out == 0) return head_ + std::string(tail);
  return absl::StrCat(head_, "\n[... ", left_out, " bytes left out ...]\n", std::string(tail));
}

std::string ToUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    if (length == 0) {
      out.push_back('?');
      text.remove_prefix(1);
    } else {
      out.append(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string Tail(std::string_view text, std::size_t limit) {
  if (text.size() > limit) {
    text.remove_prefix(text.size() - limit);
    const std::size_t line_end = text.find('\n');
    if (line_end != std::string_view::npos && line_end + 1 < text.size()) text.remove_prefix(line_end + 1);
  }
  return ToUtf8(text);
}

}  // namespace maxkernel::eval
