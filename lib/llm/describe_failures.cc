#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/llm/file_text.h"
#include "lib/llm/text_lines.h"
#include "maxkernel/llm/edit.h"

namespace maxkernel {
namespace {

using llm::FileText;

constexpr std::size_t kMostFailures = 10;
constexpr std::size_t kSearchLines = 5;      // of a block, to recognise it by
constexpr std::size_t kContextLines = 3;     // around the nearest place
constexpr std::size_t kMostNearLines = 20;
constexpr std::size_t kLongestLine = 200;

std::string Shorten(std::string_view line) {
  return line.size() <= kLongestLine ? std::string(line) : absl::StrCat(std::string(line.substr(0, kLongestLine)), "[...]");
}

void AppendNearest(const FileText& file, const std::vector<std::string>& search, std::string& message) {
  const std::size_t nearest = NearestLines(file, search);
  if (nearest == file.size()) return;
  const std::size_t begin = nearest - std::min(nearest, kContextLines);
  const std::size_t end = std::min({file.size(), nearest + search.size() + kContextLines, begin + kMostNearLines});
  absl::StrAppend(&message, "The nearest lines of the file, with their numbers:\n");
  for (std::size_t at = begin; at < end; ++at) absl::StrAppend(&message, "  ", at + 1, "| ", Shorten(file.line(at)), "\n");
}

}  // namespace

std::string DescribeFailures(const Candidate& parent, const EditResult& result) {
  std::string message = "Your edits could not be applied:\n";
  for (std::size_t i = 0; i < result.failures.size() && i < kMostFailures; ++i) {
    const EditFailure& failure = result.failures[i];
    absl::StrAppend(&message, "\n");
    if (failure.block > 0) absl::StrAppend(&message, "Block ", failure.block, failure.file.empty() ? "" : absl::StrCat(" (", failure.file, ")"), ": ");
    absl::StrAppend(&message, failure.reason, ".\n");
    std::vector<std::string> search;
    for (const std::string_view line : llm::SplitLines(failure.search)) search.emplace_back(line);
    if (search.empty()) continue;
    absl::StrAppend(&message, "Its SEARCH text begins:\n");
    for (std::size_t at = 0; at < std::min(search.size(), kSearchLines); ++at) absl::StrAppend(&message, "  ", Shorten(search[at]), "\n");
    for (const SourceFile& file : parent.files()) {
      if (file.path == failure.file) AppendNearest(FileText(file.text), search, message);
    }
  }
  if (result.failures.size() > kMostFailures) {
    absl::StrAppend(&message, "\nAnd ", result.failures.size() - kMostFailures, " more.\n");
  }
  absl::StrAppend(&message, "\nNone of your edits was applied: the file is as you were given it. Send all of them again, in full.\n");
  return message;
}

}  // namespace maxkernel
