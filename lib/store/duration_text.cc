#include "lib/store/duration_text.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace maxkernel::store {
namespace {

constexpr std::array<std::string_view, 4> kQuarters{"", ".25", ".5", ".75"};

}  // namespace

std::string NanosecondsText(absl::Duration duration) {
  const std::int64_t whole = absl::ToInt64Nanoseconds(duration);
  const absl::Duration rest = duration - absl::Nanoseconds(whole);
  const bool negative = duration < absl::ZeroDuration();
  const absl::Duration fraction = negative ? -rest : rest;
  std::string text = whole == 0 && negative ? "-0" : std::to_string(whole);
  const absl::Duration quarter = absl::Nanoseconds(1) / 4;
  if (fraction < absl::Nanoseconds(1)) text += kQuarters[static_cast<std::size_t>(fraction / quarter)];
  return text;
}

std::optional<absl::Duration> ParseNanoseconds(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view digits = text.substr(0, point);
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  absl::Duration duration = absl::Nanoseconds(whole);
  if (point == std::string_view::npos) return duration;
  const absl::Duration quarter = absl::Nanoseconds(1) / 4;
  for (std::size_t i = 1; i < kQuarters.size(); ++i) {
    if (text.substr(point) != kQuarters[i]) continue;
    const absl::Duration fraction = quarter * static_cast<int>(i);
    return text.front() == '-' ? duration - fraction : duration + fraction;
  }
  return std::nullopt;
}

}  // namespace maxkernel::store
