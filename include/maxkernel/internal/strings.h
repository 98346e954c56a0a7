// Not part of the API. Debian's absl::string_view is not std::string_view and converts neither way.
#ifndef MAXKERNEL_INTERNAL_STRINGS_H_
#define MAXKERNEL_INTERNAL_STRINGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace maxkernel::internal {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
template <typename AbslView>
std::string_view ToStd(const AbslView& text) {
  return {text.data(), text.size()};
}

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return absl::HashOf(text); }
};
struct StringEqual {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};
// A hash map keyed by std::string that can be searched with a std::string_view.
template <typename Value>
using StringMap = absl::flat_hash_map<std::string, Value, StringHash, StringEqual>;

// The member of `known` nearest to `given` by edit distance, or "" if none is near enough to be meant (a third of its length).
std::string Nearest(std::string_view given, const std::vector<std::string>& known);

// "; did you mean 'width'?" or "".
std::string DidYouMean(std::string_view given, const std::vector<std::string>& known);

}  // namespace maxkernel::internal

#endif  // MAXKERNEL_INTERNAL_STRINGS_H_
