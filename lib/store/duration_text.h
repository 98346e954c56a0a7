#ifndef MAXKERNEL_LIB_STORE_DURATION_TEXT_H_
#define MAXKERNEL_LIB_STORE_DURATION_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace maxkernel::store {

// A duration in nanoseconds as a JSON number. absl::Duration counts quarters of a nanosecond, so up to two decimals make it exact:
// "1500.25". Beyond 2^63 nanoseconds (292 years) it is cut to that. Infinite ones have no number: see kInfinite.
std::string NanosecondsText(absl::Duration duration);
// The inverse; nullopt for any other text.
std::optional<absl::Duration> ParseNanoseconds(std::string_view text);

inline constexpr std::string_view kInfinite = "infinite";
inline constexpr std::string_view kMinusInfinite = "-infinite";

}  // namespace maxkernel::store

#endif  // MAXKERNEL_LIB_STORE_DURATION_TEXT_H_
