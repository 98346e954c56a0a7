#include "maxkernel/policy_spec.h"

#include <cctype>
#include <cmath>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel {
namespace {

bool IsNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.'; }
bool IsBareValueCharacter(char c) {
  return std::isgraph(static_cast<unsigned char>(c)) != 0 && c != ',' && c != '(' && c != ')' && c != '"' && c != '=';
}

// Grammar: name [ "(" [ option { "," option } ] ")" ];  option: name "=" (bare value | quoted string)
class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  absl::StatusOr<PolicySpec> Parse() {
    PolicySpec spec;
    SkipBlanks();
    spec.name = TakeWhile(IsNameCharacter);
    if (spec.name.empty()) return Error("a policy's name");
    SkipBlanks();
    if (TakeCharacter('(')) {
      if (absl::Status status = ParseOptions(spec); !status.ok()) return status;
    }
    SkipBlanks();
    if (position_ != text_.size()) return Error("the end of the text");
    return spec;
  }

 private:
  absl::Status ParseOptions(PolicySpec& spec) {
    SkipBlanks();
    if (TakeCharacter(')')) return absl::OkStatus();
    while (true) {
      SkipBlanks();
      const std::string name = TakeWhile(IsNameCharacter);
      if (name.empty()) return Error("an option's name");
      SkipBlanks();
      if (!TakeCharacter('=')) return Error(absl::StrCat("'=' after '", name, "'"));
      SkipBlanks();
      const std::optional<std::string> value = TakeValue();
      if (!value.has_value()) return Error(absl::StrCat("a value for '", name, "'"));
      if (!spec.options.emplace(name, *value).second) {
        return absl::InvalidArgumentError(absl::StrCat("policy '", std::string(text_), "': option '", name, "' is given twice"));
      }
      SkipBlanks();
      if (TakeCharacter(')')) return absl::OkStatus();
      if (!TakeCharacter(',')) return Error("',' or ')'");
    }
  }

  std::optional<std::string> TakeValue() {
    if (!TakeCharacter('"')) {
      std::string value = TakeWhile(IsBareValueCharacter);
      if (value.empty()) return std::nullopt;
      return value;
    }
    std::string value;
    while (position_ < text_.size()) {
      const char c = text_[position_++];
      if (c == '"') return value;
      if (c == '\\' && position_ < text_.size()) {
        value.push_back(text_[position_++]);
      } else {
        value.push_back(c);
      }
    }
    return std::nullopt;
  }

  template <typename Predicate>
  std::string TakeWhile(Predicate predicate) {
    const std::size_t begin = position_;
    while (position_ < text_.size() && predicate(text_[position_])) ++position_;
    return std::string(text_.substr(begin, position_ - begin));
  }

  bool TakeCharacter(char c) {
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void SkipBlanks() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])) != 0) ++position_;
  }

  absl::Status Error(std::string_view expected) const {
    return absl::InvalidArgumentError(absl::StrCat("policy '", std::string(text_), "': at position ", position_ + 1,
                                                   " expected ", std::string(expected),
                                                   "; the form is name(option=value, option=\"value with blanks\")"));
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

bool NeedsQuotes(std::string_view value) {
  if (value.empty()) return true;
  for (char c : value) {
    if (!IsBareValueCharacter(c)) return true;
  }
  return false;
}

std::string Quote(std::string_view value) {
  std::string quoted = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

}  // namespace

absl::StatusOr<PolicySpec> PolicySpec::Parse(std::string_view text) { return SpecParser(text).Parse(); }

std::string PolicySpec::ToString() const {
  if (options.empty()) return name;
  std::vector<std::string> parts;
  for (const auto& [option, value] : options) {
    parts.push_back(absl::StrCat(option, "=", NeedsQuotes(value) ? Quote(value) : value));
  }
  return absl::StrCat(name, "(", absl::StrJoin(parts, ", "), ")");
}

const std::string* OptionReader::Take(std::string_view name) {
  known_.emplace_back(name);
  const auto found = spec_.options.find(std::string(name));
  return found == spec_.options.end() ? nullptr : &found->second;
}

void OptionReader::Fail(std::string_view name, std::string_view expected) {
  errors_.push_back(absl::StrCat("option '", std::string(name), "' is '", spec_.options.at(std::string(name)), "'; expected ",
                                 std::string(expected)));
}

void OptionReader::Read(std::string_view name, std::string_view help, std::int64_t* value, std::int64_t minimum,
                        std::int64_t maximum) {
  const std::string range = absl::StrCat(minimum, "..", maximum);
  descriptions_.push_back(absl::StrCat(std::string(name), " (", std::string(help), ", ", range, ", default ", *value, ")"));
  const std::string* text = Take(name);
  if (text == nullptr) return;
  std::int64_t parsed = 0;
  if (!absl::SimpleAtoi(*text, &parsed) || parsed < minimum || parsed > maximum) {
    Fail(name, absl::StrCat("a whole number in ", range));
    return;
  }
  *value = parsed;
}

void OptionReader::Read(std::string_view name, std::string_view help, double* value, double minimum, double maximum) {
  const std::string range = absl::StrCat(minimum, "..", maximum);
  descriptions_.push_back(absl::StrCat(std::string(name), " (", std::string(help), ", ", range, ", default ", *value, ")"));
  const std::string* text = Take(name);
  if (text == nullptr) return;
  double parsed = 0;
  if (!absl::SimpleAtod(*text, &parsed) || !std::isfinite(parsed) || parsed < minimum || parsed > maximum) {
    Fail(name, absl::StrCat("a number in ", range));
    return;
  }
  *value = parsed;
}

void OptionReader::Read(std::string_view name, std::string_view help, std::string* value) {
  descriptions_.push_back(absl::StrCat(std::string(name), " (", std::string(help), ", default '", *value, "')"));
  if (const std::string* text = Take(name); text != nullptr) *value = *text;
}

void OptionReader::ReadChoice(std::string_view name, std::string_view help, std::string* value,
                              const std::vector<std::string>& choices) {
  const std::string list = absl::StrJoin(choices, " | ");
  descriptions_.push_back(absl::StrCat(std::string(name), " (", std::string(help), ", ", list, ", default ", *value, ")"));
  const std::string* text = Take(name);
  if (text == nullptr) return;
  for (const std::string& choice : choices) {
    if (choice == *text) {
      *value = *text;
      return;
    }
  }
  Fail(name, absl::StrCat("one of ", list, internal::DidYouMean(*text, choices)));
}

absl::Status OptionReader::Finish() const {
  std::vector<std::string> errors = errors_;
  for (const auto& [name, value] : spec_.options) {
    bool is_known = false;
    for (const std::string& known : known_) is_known |= known == name;
    if (is_known) continue;
    errors.push_back(absl::StrCat("unknown option '", name, "'", internal::DidYouMean(name, known_), "; valid: ",
                                  known_.empty() ? "none" : absl::StrJoin(descriptions_, ", ")));
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("policy '", spec_.ToString(), "': ", absl::StrJoin(errors, "; ")));
}

}  // namespace maxkernel
