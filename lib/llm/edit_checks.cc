#include "lib/llm/edit_checks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lib/llm/text_lines.h"

namespace maxkernel::llm {
namespace {

constexpr std::string_view kRegionStart = "EVOLVE-BLOCK-START";
constexpr std::string_view kRegionEnd = "EVOLVE-BLOCK-END";

bool IsOmission(std::string_view line) {
  line = TrimBlanks(line);
  if (line == "..." || line == "\xE2\x80\xA6") return true;
  const std::size_t words_begin = line.find_first_not_of("#/ \t");
  if (!(line.starts_with('#') || line.starts_with("//")) || words_begin == std::string_view::npos) return false;
  const std::string words = absl::AsciiStrToLower(std::string(line.substr(words_begin)));
  if (words.starts_with("...") || words.starts_with("\xE2\x80\xA6")) return true;
  constexpr std::array kPhrases = {"rest of the code", "rest of the file",   "rest of the function", "rest of the kernel", "rest unchanged",
                                   "remains unchanged", "remain unchanged", "unchanged code",       "existing code",      "same as before"};
  return std::any_of(kPhrases.begin(), kPhrases.end(), [&](const char* phrase) { return words.find(phrase) != std::string::npos; });
}

struct Regions {
  std::vector<std::string> frozen;  // text outside the regions, marker lines included, one entry per gap
  std::string fault;
};

Regions FindRegions(std::string_view text) {
  Regions regions{.frozen = {""}, .fault = ""};
  bool inside = false;
  for (const std::string_view line : SplitLines(text)) {
    const bool starts = line.find(kRegionStart) != std::string_view::npos;
    const bool ends = line.find(kRegionEnd) != std::string_view::npos;
    if ((starts && inside) || (ends && !inside)) regions.fault = "EVOLVE-BLOCK markers are nested or out of order";
    if (ends && inside) regions.frozen.emplace_back();
    if (ends) inside = false;
    if (!inside) absl::StrAppend(&regions.frozen.back(), std::string(line), "\n");
    if (starts) inside = true;
  }
  if (inside) regions.fault = "an EVOLVE-BLOCK-END marker is missing";
  return regions;
}

struct Lookalike {
  std::string_view bytes;
  std::string_view name;
};
constexpr std::array<Lookalike, 11> kLookalikes = {{{"\xC2\xA0", "U+00A0 (no-break space)"},
                                                    {"\xE2\x80\x98", "U+2018 (left single quotation mark)"},
                                                    {"\xE2\x80\x99", "U+2019 (right single quotation mark)"},
                                                    {"\xE2\x80\x9C", "U+201C (left double quotation mark)"},
                                                    {"\xE2\x80\x9D", "U+201D (right double quotation mark)"},
                                                    {"\xE2\x80\x8B", "U+200B (zero width space)"},
                                                    {"\xEF\xBB\xBF", "U+FEFF (zero width no-break space)"},
                                                    {"\xE2\x80\x93", "U+2013 (en dash)"},
                                                    {"\xE2\x80\x94", "U+2014 (em dash)"},
                                                    {"\xE2\x88\x92", "U+2212 (minus sign)"},
                                                    {"\xE2\x80\xA6", "U+2026 (ellipsis)"}}};

}  // namespace

std::string FindOmission(const std::vector<std::string>& lines, std::string_view old_text) {
  for (const std::string& line : lines) {
    if (!IsOmission(line)) continue;
    const std::vector<std::string_view> old_lines = SplitLines(old_text);
    const bool is_old = std::any_of(old_lines.begin(), old_lines.end(), [&](std::string_view old) { return TrimBlanks(old) == TrimBlanks(line); });
    if (!is_old) return std::string(TrimBlanks(line));
  }
  return "";
}

std::string CheckEvolveRegions(std::string_view old_text, std::string_view new_text) {
  const Regions before = FindRegions(old_text);
  if (before.frozen.size() == 1 || !before.fault.empty()) return "";
  const Regions after = FindRegions(new_text);
  if (!after.fault.empty()) return after.fault;
  if (before.frozen != after.frozen) return "it changes text outside the regions between EVOLVE-BLOCK-START and EVOLVE-BLOCK-END, or a marker line";
  return "";
}

std::string FindLookalike(const std::vector<std::string>& search, std::string_view file_text) {
  for (std::size_t at = 0; at < search.size(); ++at) {
    for (const Lookalike& lookalike : kLookalikes) {
      if (search[at].find(lookalike.bytes) == std::string::npos || file_text.find(lookalike.bytes) != std::string_view::npos) continue;
      return absl::StrCat(std::string(lookalike.name), " in its line ", at + 1);
    }
  }
  return "";
}

}  // namespace maxkernel::llm
