#include "lib/llm/reply_parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lib/llm/text_lines.h"

namespace maxkernel::llm {
namespace {

constexpr std::size_t kMaximumRationale = 4000;
constexpr std::size_t kLinesBeforeBlock = 3;  // that may name its file

enum class Marker { kNone, kSearch, kDivider, kReplace };

std::size_t RunLength(std::string_view line, char mark) {
  return std::min(line.find_first_not_of(mark), line.size());
}

bool IsMarkerRun(std::size_t length) { return length >= 5 && length <= 9; }

// A marker stands at column 0, alone on its line: five to nine marks and, but for the divider, a blank and the keyword.
Marker MarkerOf(std::string_view line) {
  line = TrimTrailingBlanks(line);
  if (line.empty()) return Marker::kNone;
  const std::size_t run = RunLength(line, line.front());
  if (!IsMarkerRun(run)) return Marker::kNone;
  const std::string_view rest = line.substr(run);
  const bool is_separated = rest.starts_with(' ') || rest.starts_with('\t');
  const std::string_view keyword = TrimBlanks(rest);
  if (line.front() == '<' && is_separated && keyword == "SEARCH") return Marker::kSearch;
  if (line.front() == '=' && rest.empty()) return Marker::kDivider;
  if (line.front() == '>' && is_separated && keyword == "REPLACE") return Marker::kReplace;
  return Marker::kNone;
}

struct Fence {
  char mark;
  std::size_t length;
  std::string_view info;
};

// A line of three or more backticks or tildes, indented by at most three blanks (CommonMark 0.31, section 4.5).
std::optional<Fence> FenceOf(std::string_view line) {
  if (Indent(line).size() > 3) return std::nullopt;
  line = TrimBlanks(line);
  if (line.empty() || (line.front() != '`' && line.front() != '~')) return std::nullopt;
  const std::size_t length = RunLength(line, line.front());
  if (length < 3) return std::nullopt;
  const std::string_view info = TrimBlanks(line.substr(length));
  if (line.front() == '`' && info.find('`') != std::string_view::npos) return std::nullopt;
  return Fence{line.front(), length, info};
}

bool Closes(const Fence& opening, std::string_view line) {
  const std::optional<Fence> fence = FenceOf(line);
  return fence.has_value() && fence->mark == opening.mark && fence->length >= opening.length && fence->info.empty();
}

// The path in a fence's info string: "python kernel.py", "python title=kernel.py", "kernel.py".
std::string PathInInfo(std::string_view info) {
  while (!info.empty()) {
    const std::size_t end = info.find_first_of(" \t,;{}");
    std::string_view word = info.substr(0, end);
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) word.remove_prefix(equals + 1);
    if (std::string path = PathOnLine(word); !path.empty()) return path;
    if (end == std::string_view::npos) break;
    info.remove_prefix(end + 1);
  }
  return "";
}

std::vector<std::string> Copy(const std::vector<std::string_view>& lines, std::size_t begin, std::size_t end) {
  return {lines.begin() + static_cast<std::ptrdiff_t>(begin), lines.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  return text;
}

// Thoughts that a server leaves in the answer are not part of it.
std::string_view WithoutThoughts(std::string_view reply) {
  constexpr std::string_view kOpen = "<think>";
  constexpr std::string_view kClose = "</think>";
  const std::size_t begin = reply.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || !reply.substr(begin).starts_with(kOpen)) return reply;
  const std::size_t end = reply.find(kClose, begin);
  return end == std::string_view::npos ? std::string_view() : reply.substr(end + kClose.size());
}

class Parser {
 public:
  explicit Parser(std::string_view reply) : lines_(SplitLines(reply)), is_edit_(lines_.size(), false) {}

  ParsedReply Parse() && {
    FindBlocks();
    if (parsed_.blocks.empty() && parsed_.failures.empty()) FindFences();
    parsed_.rationale = Rationale();
    return std::move(parsed_);
  }

 private:
  void FindBlocks() {
    for (std::size_t at = 0; at < lines_.size();) {
      at = MarkerOf(lines_[at]) == Marker::kSearch ? TakeBlock(at) : at + 1;
      if (count_ > kMaximumBlocks) {
        parsed_.failures.push_back({.reason = absl::StrCat("the reply has more than ", kMaximumBlocks, " edit blocks")});
        return;
      }
    }
  }

  // Takes the block whose SEARCH marker is at `begin`; the line after it.
  std::size_t TakeBlock(std::size_t begin) {
    EditBlock block{.number = ++count_, .file = FileBefore(begin)};
    std::vector<std::size_t> dividers;
    for (std::size_t at = begin + 1; at < lines_.size(); ++at) {
      switch (MarkerOf(lines_[at])) {
        case Marker::kDivider:
          dividers.push_back(at);
          break;
        case Marker::kSearch:
          Fail(block, "it is unterminated: another SEARCH marker comes before its REPLACE marker");
          MarkEdit(begin, at);
          return at;
        case Marker::kReplace:
          MarkEdit(begin, at + 1);
          CloseBlock(std::move(block), begin, dividers, at);
          return at + 1;
        case Marker::kNone:
          break;
      }
    }
    Fail(block, "it is unterminated: the reply ends before its REPLACE marker");
    MarkEdit(begin, lines_.size());
    return lines_.size();
  }

  void CloseBlock(EditBlock block, std::size_t begin, const std::vector<std::size_t>& dividers, std::size_t end) {
    if (!dividers.empty()) block.search = Copy(lines_, begin + 1, dividers.front());
    if (dividers.size() != 1) {
      return Fail(block, dividers.empty() ? "it has no ======= divider between SEARCH and REPLACE"
                                          : absl::StrCat("it is ambiguous: it has ", dividers.size(),
                                                         " ======= dividers; use more edit blocks, or send the whole file"));
    }
    block.replace = Copy(lines_, dividers.front() + 1, end);
    const auto is_text = [](const std::string& line) { return IsText(line); };
    if (!std::all_of(block.search.begin(), block.search.end(), is_text) ||
        !std::all_of(block.replace.begin(), block.replace.end(), is_text)) {
      return Fail(block, "it is not UTF-8 text");
    }
    parsed_.blocks.push_back(std::move(block));
  }

  void Fail(const EditBlock& block, std::string reason) {
    parsed_.failures.push_back({.block = block.number, .reason = std::move(reason), .file = block.file, .search = Join(block.search)});
  }

  // The file that one of the lines before an edit names, fences and empty lines aside.
  std::string FileBefore(std::size_t at) {
    for (std::size_t seen = 0; at > 0 && seen < kLinesBeforeBlock; ++seen) {
      --at;
      if (is_edit_[at]) break;
      std::string path;
      if (const std::optional<Fence> fence = FenceOf(lines_[at]); fence.has_value()) {
        is_edit_[at] = true;
        path = PathInInfo(fence->info);
      } else if (!TrimBlanks(lines_[at]).empty()) {
        path = PathOnLine(lines_[at]);
        if (path.empty()) break;
      }
      if (path.empty()) continue;
      is_edit_[at] = true;
      return path;
    }
    return "";
  }

  void FindFences() {
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      const std::optional<Fence> opening = FenceOf(lines_[at]);
      if (!opening.has_value()) continue;
      std::size_t end = at + 1;
      while (end < lines_.size() && !Closes(*opening, lines_[end])) ++end;
      if (end == lines_.size()) {
        parsed_.failures.push_back({.block = ++count_, .reason = "the fenced block is never closed: the reply is cut off"});
        return;
      }
      TakeFence(*opening, at, end);
      at = end;
      if (count_ > kMaximumBlocks) {
        parsed_.failures.push_back({.reason = absl::StrCat("the reply has more than ", kMaximumBlocks, " fenced blocks")});
        return;
      }
    }
  }

  void TakeFence(const Fence& opening, std::size_t begin, std::size_t end) {
    WholeFile file{.number = ++count_, .file = PathInInfo(opening.info)};
    if (file.file.empty()) file.file = FileBefore(begin);
    MarkEdit(begin, end + 1);
    file.lines = Copy(lines_, begin + 1, end);
    if (file.file.empty() && !file.lines.empty()) {  // named inside, in a line of its own
      file.file = PathOnLine(file.lines.front());
      if (!file.file.empty() && !file.lines.front().starts_with('#')) file.lines.erase(file.lines.begin());
    }
    if (!std::all_of(file.lines.begin(), file.lines.end(), [](const std::string& line) { return IsText(line); })) {
      parsed_.failures.push_back({.block = file.number, .reason = "the fenced block is not UTF-8 text", .file = file.file});
      return;
    }
    parsed_.files.push_back(std::move(file));
  }

  void MarkEdit(std::size_t begin, std::size_t end) {
    std::fill(is_edit_.begin() + static_cast<std::ptrdiff_t>(begin), is_edit_.begin() + static_cast<std::ptrdiff_t>(end), true);
  }

  std::string Rationale() const {
    std::string text;
    for (std::size_t at = 0; at < lines_.size() && text.size() < kMaximumRationale; ++at) {
      if (is_edit_[at] || FenceOf(lines_[at]).has_value() || !IsText(lines_[at])) continue;
      absl::StrAppend(&text, std::string(TrimTrailingBlanks(lines_[at])), "\n");
    }
    text = std::string(absl::StripAsciiWhitespace(text));
    if (text.size() > kMaximumRationale) {
      std::size_t end = kMaximumRationale;
      while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 character
      text.resize(end);
    }
    return text;
  }

  const std::vector<std::string_view> lines_;
  std::vector<bool> is_edit_;
  std::size_t count_ = 0;
  ParsedReply parsed_;
};

}  // namespace

std::string PathOnLine(std::string_view line) {
  constexpr std::string_view kOrnament = "#:*`\"'[]() \t\r";
  const std::size_t first = line.find_first_not_of(kOrnament);
  if (first == std::string_view::npos) return "";
  const std::string_view path = line.substr(first, line.find_last_not_of(kOrnament) - first + 1);
  if (path.find_first_of(" \t\"'`()[]{}=<>,") != std::string_view::npos || path.size() > 255) return "";
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == path.size() || path.size() - dot > 8) return "";
  const std::string_view extension = path.substr(dot + 1);
  const bool is_word = std::all_of(extension.begin(), extension.end(), [](unsigned char c) { return absl::ascii_isalnum(c); });
  return is_word && absl::ascii_isalpha(static_cast<unsigned char>(extension.front())) ? std::string(path) : "";
}

ParsedReply ParseReply(std::string_view reply) {
  if (reply.size() > kMaximumReply) {
    ParsedReply parsed;
    parsed.failures.push_back({.reason = absl::StrCat("the reply is longer than ", kMaximumReply, " bytes")});
    return parsed;
  }
  return Parser(WithoutThoughts(reply)).Parse();
}

}  // namespace maxkernel::llm
