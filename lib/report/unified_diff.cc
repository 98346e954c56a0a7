#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "maxkernel/report/result_file.h"

namespace maxkernel {
namespace {

constexpr std::size_t kContext = 3;
// Texts that differ in more lines than this are shown as replaced whole: the search for the shortest script takes time and memory
// with the square of the difference.
constexpr std::ptrdiff_t kMaximumDifference = 4000;

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

enum class Kind : char { kSame = ' ', kRemoved = '-', kAdded = '+' };
struct Step {
  Kind kind;
  std::size_t before;  // line numbers from 0 at which the step starts
  std::size_t after;
};

std::vector<Step> ReplaceAll(std::size_t removed, std::size_t added) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < removed; ++i) steps.push_back({Kind::kRemoved, i, 0});
  for (std::size_t i = 0; i < added; ++i) steps.push_back({Kind::kAdded, removed, i});
  return steps;
}

// The shortest edit script by Myers' greedy algorithm ("An O(ND) difference algorithm and its variations", 1986), with the furthest
// reaching paths of every round kept for the way back.
std::vector<Step> ShortestEdit(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  const auto n = static_cast<std::ptrdiff_t>(a.size());
  const auto m = static_cast<std::ptrdiff_t>(b.size());
  // rounds[d] holds diagonals -d-1 .. d+1 before round d.
  std::vector<std::vector<std::ptrdiff_t>> rounds;
  std::vector<std::ptrdiff_t> furthest(3, 0);
  const auto at = [](std::vector<std::ptrdiff_t>& v, std::ptrdiff_t k) -> std::ptrdiff_t& {
    return v[static_cast<std::size_t>(k + static_cast<std::ptrdiff_t>(v.size() / 2))];
  };
  bool done = false;
  for (std::ptrdiff_t d = 0; !done; ++d) {
    if (d > kMaximumDifference) return ReplaceAll(a.size(), b.size());
    rounds.push_back(furthest);
    for (std::ptrdiff_t k = -d; k <= d; k += 2) {
      const bool down = k == -d || (k != d && at(furthest, k - 1) < at(furthest, k + 1));
      std::ptrdiff_t x = down ? at(furthest, k + 1) : at(furthest, k - 1) + 1;
      std::ptrdiff_t y = x - k;
      while (x < n && y < m && a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(y)]) {
        ++x;
        ++y;
      }
      at(furthest, k) = x;
      if (x >= n && y >= m) {
        done = true;
        break;
      }
    }
    furthest.insert(furthest.begin(), 0);
    furthest.push_back(0);
  }
  std::vector<Step> steps;
  std::ptrdiff_t x = n;
  std::ptrdiff_t y = m;
  const auto push = [&](Kind kind) { steps.push_back({kind, static_cast<std::size_t>(x), static_cast<std::size_t>(y)}); };
  for (auto d = static_cast<std::ptrdiff_t>(rounds.size()) - 1; d >= 0; --d) {
    std::vector<std::ptrdiff_t>& reached = rounds[static_cast<std::size_t>(d)];
    const std::ptrdiff_t k = x - y;
    const bool down = k == -d || (k != d && at(reached, k - 1) < at(reached, k + 1));
    const std::ptrdiff_t previous_k = down ? k + 1 : k - 1;
    const std::ptrdiff_t previous_x = d == 0 ? 0 : at(reached, previous_k);
    const std::ptrdiff_t previous_y = d == 0 ? 0 : previous_x - previous_k;
    while (x > previous_x && y > previous_y) {
      --x;
      --y;
      push(Kind::kSame);
    }
    if (d > 0) {
      x = previous_x;
      y = previous_y;
      push(down ? Kind::kAdded : Kind::kRemoved);
    }
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

// "12,3" as in a hunk's header: the first line, from 1, and the number of lines. An empty range names the line before it.
std::string Range(std::size_t first, std::size_t count) {
  if (count == 1) return absl::StrCat(first + 1);
  return absl::StrCat(count == 0 ? first : first + 1, ",", count);
}

void AppendLine(std::string& text, char mark, std::string_view line) {
  absl::StrAppend(&text, std::string(1, mark), std::string(line));
  if (line.empty() || line.back() != '\n') text += "\n\\ No newline at end of file\n";
}

}  // namespace

std::string UnifiedDiff(std::string_view before, std::string_view after, std::string_view before_name,
                        std::string_view after_name) {
  if (before == after) return "";
  const std::vector<std::string_view> a = SplitLines(before);
  const std::vector<std::string_view> b = SplitLines(after);
  const std::vector<Step> steps = ShortestEdit(a, b);
  std::string text = absl::StrCat("--- ", std::string(before_name), "\n+++ ", std::string(after_name), "\n");
  std::size_t i = 0;
  while (true) {
    while (i < steps.size() && steps[i].kind == Kind::kSame) ++i;
    if (i == steps.size()) break;
    const std::size_t begin = i - std::min(i, kContext);
    std::size_t last_change = i;
    for (std::size_t j = i; j < steps.size() && j <= last_change + 2 * kContext + 1; ++j) {
      if (steps[j].kind != Kind::kSame) last_change = j;
    }
    const std::size_t end = std::min(steps.size(), last_change + kContext + 1);
    std::size_t removed = 0;
    std::size_t added = 0;
    for (std::size_t j = begin; j < end; ++j) {
      if (steps[j].kind != Kind::kAdded) ++removed;
      if (steps[j].kind != Kind::kRemoved) ++added;
    }
    absl::StrAppend(&text, "@@ -", Range(steps[begin].before, removed), " +", Range(steps[begin].after, added), " @@\n");
    for (std::size_t j = begin; j < end; ++j) {
      AppendLine(text, static_cast<char>(steps[j].kind), steps[j].kind == Kind::kAdded ? b[steps[j].after] : a[steps[j].before]);
    }
    i = end;
  }
  return text;
}

}  // namespace maxkernel
