// Not part of the API.
#ifndef MAXKERNEL_INTERNAL_UTF8_H_
#define MAXKERNEL_INTERNAL_UTF8_H_

#include <cstddef>
#include <string_view>

namespace maxkernel::internal {

// The length of the well-formed UTF-8 sequence at the start of `text` (RFC 3629, no surrogates); 0 if there is none.
inline std::size_t Utf8SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return continues(1) ? 2 : 0;
  if (first < 0xF0) {
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (first < 0xF5) {
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace maxkernel::internal

#endif  // MAXKERNEL_INTERNAL_UTF8_H_
