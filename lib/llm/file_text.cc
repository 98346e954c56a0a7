#include "lib/llm/file_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "lib/llm/text_lines.h"

namespace maxkernel::llm {
namespace {

constexpr std::size_t kMostPlaces = 5;
constexpr std::size_t kLinesCompared = 5;   // of a search text, for its nearest place
constexpr double kLikeEnough = 0.4;         // mean similarity of those lines

template <typename Equal>
std::vector<std::size_t> Places(const FileText& file, std::size_t count, const Equal& equal) {
  std::vector<std::size_t> places;
  for (std::size_t first = 0; first + count <= file.size() && places.size() < kMostPlaces; ++first) {
    if (equal(first)) places.push_back(first);
  }
  return places;
}

SearchMatch MakeMatch(std::vector<std::size_t> places) {
  const auto kind = places.empty() ? SearchMatch::Kind::kNone : places.size() == 1 ? SearchMatch::Kind::kUnique : SearchMatch::Kind::kAmbiguous;
  return {.kind = kind, .places = std::move(places), .added_indent = "", .removed_indent = ""};
}

struct Shift {
  std::string_view added;
  std::string_view removed;
  bool operator==(const Shift&) const = default;
};

// How the indent of `line` differs from that of `searched`, if the rest agrees.
std::optional<Shift> ShiftBetween(std::string_view line, std::string_view searched) {
  line = TrimTrailingBlanks(line);
  searched = TrimTrailingBlanks(searched);
  if (line.size() >= searched.size()) {
    const std::string_view added = line.substr(0, line.size() - searched.size());
    if (!line.ends_with(searched) || Indent(line).size() < added.size()) return std::nullopt;
    return Shift{added, {}};
  }
  const std::string_view removed = searched.substr(0, searched.size() - line.size());
  if (!searched.ends_with(line) || Indent(searched).size() < removed.size()) return std::nullopt;
  return Shift{{}, removed};
}

std::optional<Shift> UniformShift(const FileText& file, std::size_t first, const std::vector<std::string>& search) {
  std::optional<Shift> shift;
  for (std::size_t at = 0; at < search.size(); ++at) {
    const std::string_view line = file.line(first + at);
    const bool is_blank = TrimBlanks(search[at]).empty();
    if (is_blank != TrimBlanks(line).empty()) return std::nullopt;
    if (is_blank) continue;
    const std::optional<Shift> here = ShiftBetween(line, search[at]);
    if (!here.has_value() || (shift.has_value() && *shift != *here)) return std::nullopt;
    shift = here;
  }
  return shift;
}

// The Dice coefficient of two lines' pairs of neighbouring characters, by a 256-bin sketch.
double Similarity(std::string_view a, std::string_view b) {
  a = TrimBlanks(a);
  b = TrimBlanks(b);
  if (a == b) return 1;
  if (a.size() < 2 || b.size() < 2) return 0;
  std::array<int, 256> counts{};
  const auto bin = [](std::string_view text, std::size_t at) {
    return static_cast<std::uint8_t>(static_cast<std::uint8_t>(text[at]) * 31 + static_cast<std::uint8_t>(text[at + 1]));
  };
  for (std::size_t at = 0; at + 1 < a.size(); ++at) ++counts[bin(a, at)];
  int common = 0;
  for (std::size_t at = 0; at + 1 < b.size(); ++at) common += counts[bin(b, at)]-- > 0 ? 1 : 0;
  return 2.0 * common / static_cast<double>(a.size() + b.size() - 2);
}

}  // namespace

FileText::FileText(std::string_view text) {
  std::size_t crlf = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    std::string line_end = end == std::string_view::npos ? "" : "\n";
    if (!line_end.empty() && line.ends_with('\r')) {
      line.remove_suffix(1);
      line_end = "\r\n";
      ++crlf;
    }
    ends_with_line_end_ = !line_end.empty();
    lines_.push_back({std::string(line), std::move(line_end)});
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (crlf * 2 > lines_.size()) usual_end_ = "\r\n";
}

void FileText::Replace(std::size_t first, std::size_t count, const std::vector<std::string>& lines) {
  std::vector<Line> fresh;
  for (const std::string& line : lines) fresh.push_back({line, usual_end_});
  const auto begin = lines_.begin() + static_cast<std::ptrdiff_t>(first);
  lines_.insert(lines_.erase(begin, begin + static_cast<std::ptrdiff_t>(count)), fresh.begin(), fresh.end());
  if (!lines_.empty()) {
    std::string& last = lines_.back().end;
    if (!ends_with_line_end_) last.clear();
    if (ends_with_line_end_ && last.empty()) last = usual_end_;
    if (lines_.size() > 1 && lines_[lines_.size() - 2].end.empty()) lines_[lines_.size() - 2].end = usual_end_;
  }
}

std::string FileText::ToString() const {
  std::string text;
  for (const Line& line : lines_) text.append(line.text).append(line.end);
  return text;
}

SearchMatch FindLines(const FileText& file, const std::vector<std::string>& search) {
  if (search.empty()) return {};
  SearchMatch exact = MakeMatch(Places(file, search.size(), [&](std::size_t first) {
    for (std::size_t at = 0; at < search.size(); ++at) {
      if (file.line(first + at) != search[at]) return false;
    }
    return true;
  }));
  if (exact.kind != SearchMatch::Kind::kNone) return exact;

  Shift shift;
  SearchMatch tolerant = MakeMatch(Places(file, search.size(), [&](std::size_t first) {
    const std::optional<Shift> here = UniformShift(file, first, search);
    if (here.has_value()) shift = *here;
    return here.has_value();
  }));
  tolerant.added_indent = shift.added;
  tolerant.removed_indent = shift.removed;
  return tolerant;
}

bool ShiftIndent(const SearchMatch& match, std::vector<std::string>& lines) {
  for (std::string& line : lines) {
    if (TrimBlanks(line).empty()) continue;
    if (!match.removed_indent.empty()) {
      if (!line.starts_with(match.removed_indent)) return false;
      line.erase(0, match.removed_indent.size());
    }
    line.insert(0, match.added_indent);
  }
  return true;
}

std::size_t NearestLines(const FileText& file, const std::vector<std::string>& search) {
  const std::size_t count = std::min(search.size(), kLinesCompared);
  std::size_t best = file.size();
  double best_similarity = kLikeEnough * static_cast<double>(count);
  for (std::size_t first = 0; count > 0 && first < file.size(); ++first) {
    double similarity = 0;
    for (std::size_t at = 0; at < count && first + at < file.size(); ++at) similarity += Similarity(file.line(first + at), search[at]);
    if (similarity > best_similarity) {
      best = first;
      best_similarity = similarity;
    }
  }
  return best;
}

}  // namespace maxkernel::llm
