#include "lib/llm/prompt_template.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/llm/text_lines.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::llm {
namespace {

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";

// The tag that is all of a line: "#name", "/name"; "" if the line is none.
std::string SectionTag(std::string_view line) {
  line = TrimBlanks(line);
  if (!line.starts_with(kOpen) || !line.ends_with(kClose) || line.size() < 5) return "";
  const std::string_view tag = line.substr(2, line.size() - 4);
  return tag.front() == '#' || tag.front() == '/' ? std::string(tag) : "";
}

}  // namespace

absl::StatusOr<PromptTemplate> PromptTemplate::Parse(std::string_view file, std::string_view text, const std::vector<std::string>& known) {
  PromptTemplate result;
  std::string section;
  std::size_t number = 0;
  const auto fail = [&](std::string what) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(file), ":", number, ": ", what));
  };
  const auto unknown = [&](const std::string& name) {
    std::string names;
    for (const std::string& one : known) absl::StrAppend(&names, names.empty() ? "" : ", ", one);
    return fail(absl::StrCat("there is no value \"", name, "\" here: expected one of ", names, internal::DidYouMean(name, known)));
  };
  const auto is_known = [&](const std::string& name) { return std::find(known.begin(), known.end(), name) != known.end(); };

  for (std::string_view line : SplitLines(text)) {
    ++number;
    if (const std::string tag = SectionTag(line); !tag.empty()) {
      const std::string name = tag.substr(1);
      if (!is_known(name)) return unknown(name);
      if (tag.front() == '#' && !section.empty()) return fail(absl::StrCat("section \"", section, "\" is still open: sections do not nest"));
      if (tag.front() == '/' && section != name) return fail(absl::StrCat("section \"", name, "\" ends here, but is not open"));
      section = tag.front() == '#' ? name : "";
      continue;
    }
    for (std::size_t open = line.find(kOpen); open != std::string_view::npos; open = line.find(kOpen)) {
      const std::size_t close = line.find(kClose, open);
      if (close == std::string_view::npos) return fail("\"{{\" has no \"}}\"");
      const std::string name(line.substr(open + kOpen.size(), close - open - kOpen.size()));
      if (name.starts_with('#') || name.starts_with('/')) return fail(absl::StrCat("{{", name, "}} is not alone on its line"));
      if (!is_known(name)) return unknown(name);
      result.pieces_.push_back({section, std::string(line.substr(0, open)), ""});
      result.pieces_.push_back({section, "", name});
      line.remove_prefix(close + kClose.size());
    }
    result.pieces_.push_back({section, absl::StrCat(std::string(line), "\n"), ""});
  }
  if (!section.empty()) return fail(absl::StrCat("section \"", section, "\" is never closed"));
  return result;
}

std::string PromptTemplate::Render(const PromptValues& values) const {
  const auto value_of = [&](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string_view() : std::string_view(found->second);
  };
  std::string text;
  for (const Piece& piece : pieces_) {
    if (!piece.section.empty() && value_of(piece.section).empty()) continue;
    text.append(piece.text);
    if (!piece.value.empty()) text.append(value_of(piece.value));
  }
  return text;
}

}  // namespace maxkernel::llm
