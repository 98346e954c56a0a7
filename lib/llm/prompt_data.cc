#include "lib/llm/prompt_data.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/llm/text_lines.h"
#include "maxkernel/candidate.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::llm {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The length of a terminal's control sequence at the start of `text` (ECMA-48, section 5.4), or 0.
std::size_t ControlSequenceLength(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;:?<=>! \"#$%&'()*+,-./", 2);
  return end == std::string_view::npos ? text.size() : end + 1;
}

}  // namespace

std::string MakeDataTag(std::string_view task_digest) {
  return "data-" + Sha256Hex(absl::StrCat("maxkernel prompt data ", std::string(task_digest))).substr(0, 10);
}

std::string DataBlock(std::string_view tag, std::string_view name, std::string_view text) {
  const std::string tag_text(tag);
  const std::string clean = absl::StrReplaceAll(CleanText(text), {{tag_text, "data"}});
  const char* line_end = clean.empty() || clean.ends_with('\n') ? "" : "\n";
  return absl::StrCat("<", tag_text, " name=\"", std::string(name), "\">\n", clean, line_end, "</", tag_text, ">\n");
}

std::string CleanText(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t length = ControlSequenceLength(text.substr(at)); length > 0) {
      at += length;
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[at]);
    std::size_t length = 1;
    while (byte >= 0x80 && at + length < text.size() && length < 4 && IsContinuation(text[at + length])) ++length;
    const std::string_view character = text.substr(at, length);
    at += length;
    if (byte == '\r' || (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) continue;
    if (IsText(character)) {
      clean.append(character);
    } else {
      clean.push_back('?');
    }
  }
  return clean;
}

std::string KeepEnds(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t head = limit / 2;
  while (head > 0 && IsContinuation(text[head])) --head;
  std::size_t tail = text.size() - limit / 2;
  while (tail < text.size() && IsContinuation(text[tail])) ++tail;
  return absl::StrCat(std::string(text.substr(0, head)), "\n[", tail - head, " bytes left out]\n", std::string(text.substr(tail)));
}

std::string FirstLine(std::string_view text, std::size_t limit) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.size() <= limit) return std::string(line);
  std::size_t end = limit;
  while (end > 0 && IsContinuation(line[end])) --end;
  return absl::StrCat(std::string(line.substr(0, end)), "...");
}

}  // namespace maxkernel::llm
