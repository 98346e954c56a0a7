#include "maxkernel/policies/tunables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel {
namespace {

constexpr std::string_view kForm = "expected: NAME = value  # tunable: choice, choice, ...";

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool IsCapital(char c) { return c >= 'A' && c <= 'Z'; }
bool IsNameCharacter(char c) { return IsCapital(c) || (c >= '0' && c <= '9') || c == '_'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// The offsets of the '#' of every comment: those outside of strings.
std::vector<std::size_t> FindComments(std::string_view text) {
  std::vector<std::size_t> comments;
  std::string_view quote;  // of the string that is open; empty outside of strings
  for (std::size_t i = 0; i < text.size();) {
    if (!quote.empty()) {
      if (text[i] == '\\') {
        i += 2;
      } else if (text.substr(i, quote.size()) == quote) {
        i += quote.size();
        quote = {};
      } else {
        // A string with single quotes ends with its line, whatever Python may think of it.
        if (text[i] == '\n' && quote.size() == 1) quote = {};
        ++i;
      }
    } else if (text[i] == '#') {
      comments.push_back(i);
      i = std::min(text.find('\n', i), text.size());
    } else if (text[i] == '"' || text[i] == '\'') {
      const bool is_long = i + 2 < text.size() && text[i + 1] == text[i] && text[i + 2] == text[i];
      quote = text.substr(i, is_long ? 3 : 1);
      i += quote.size();
    } else {
      ++i;
    }
  }
  return comments;
}

// What follows "tunable:", or nullopt for another comment.
std::optional<std::string_view> ChoicesOf(std::string_view comment) {
  comment.remove_prefix(1);
  comment = Trim(comment);
  constexpr std::string_view kWord = "tunable";
  if (comment.substr(0, kWord.size()) != kWord) return std::nullopt;
  comment = Trim(comment.substr(kWord.size()));
  if (comment.empty() || comment.front() != ':') return std::nullopt;
  return comment.substr(1);
}

bool IsQuoted(std::string_view text) {
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'') || text.back() != text.front()) return false;
  const std::string_view inner = text.substr(1, text.size() - 2);
  return inner.find(text.front()) == std::string_view::npos && inner.find('\\') == std::string_view::npos;
}

bool IsValue(std::string_view text) {
  if (text == "True" || text == "False" || IsQuoted(text)) return true;
  std::int64_t integer = 0;
  double number = 0;
  if (text.empty() || (text.front() != '-' && text.front() != '.' && (text.front() < '0' || text.front() > '9'))) return false;
  return absl::SimpleAtoi(internal::ToAbsl(text), &integer) || absl::SimpleAtod(internal::ToAbsl(text), &number);
}

// Splits at commas outside of quotes.
std::vector<std::string> SplitChoices(std::string_view text) {
  std::vector<std::string> choices;
  std::size_t begin = 0;
  char quote = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && quote != 0) {
      if (text[i] == quote) quote = 0;
    } else if (i < text.size() && (text[i] == '"' || text[i] == '\'')) {
      quote = text[i];
    } else if (i == text.size() || text[i] == ',') {
      choices.emplace_back(Trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return choices;
}

class LineParser {
 public:
  LineParser(const SourceFile& file, std::size_t line_begin, std::size_t comment) : file_(file) {
    tunable_.file = file.path;
    tunable_.line = 1 + static_cast<std::int32_t>(std::count(file.text.begin(), file.text.begin() + static_cast<std::ptrdiff_t>(comment), '\n'));
    code_ = std::string_view(file.text).substr(line_begin, comment - line_begin);
    code_offset_ = line_begin;
  }

  absl::StatusOr<Tunable> Parse(std::string_view choices) {
    if (!code_.empty() && IsBlank(code_.front())) return Error("the declaration is indented; it belongs at module level");
    const std::size_t equals = code_.find('=');
    if (equals == std::string_view::npos) return Error("there is no assignment on this line");
    const std::string_view name = Trim(code_.substr(0, equals));
    if (name.empty() || !IsCapital(name.front()) || !std::all_of(name.begin(), name.end(), IsNameCharacter)) {
      return Error(absl::StrCat("'", std::string(name), "' is not a name in capitals"));
    }
    tunable_.name = name;
    const std::string_view value = Trim(code_.substr(equals + 1));
    if (!IsValue(value)) {
      return Error(absl::StrCat("'", std::string(value), "' is not an integer, a float, a quoted string, True or False"));
    }
    tunable_.value = value;
    tunable_.value_offset = code_offset_ + static_cast<std::size_t>(value.data() - code_.data());
    return ParseChoices(choices);
  }

 private:
  absl::StatusOr<Tunable> ParseChoices(std::string_view text) {
    tunable_.choices = SplitChoices(text);
    std::set<std::string> seen;
    for (const std::string& choice : tunable_.choices) {
      if (!IsValue(choice)) {
        return Error(absl::StrCat("the choice '", choice, "' is not an integer, a float, a quoted string, True or False"));
      }
      if (!seen.insert(choice).second) return Error(absl::StrCat("the choice '", choice, "' is listed twice"));
    }
    if (!seen.contains(tunable_.value)) {
      return Error(absl::StrCat("the value ", tunable_.value, " of ", tunable_.name, " is not among its choices (",
                                absl::StrJoin(tunable_.choices, ", "), ")"));
    }
    return tunable_;
  }

  absl::Status Error(std::string what) const {
    return absl::InvalidArgumentError(absl::StrCat(file_.path, ":", tunable_.line, ": tunable: ", what, "; ", std::string(kForm)));
  }

  const SourceFile& file_;
  std::string_view code_;
  std::size_t code_offset_ = 0;
  Tunable tunable_;
};

absl::Status FindInFile(const SourceFile& file, std::vector<Tunable>& tunables) {
  const std::string_view text = file.text;
  for (std::size_t comment : FindComments(text)) {
    const std::size_t line_end = std::min(text.find('\n', comment), text.size());
    const std::optional<std::string_view> choices = ChoicesOf(text.substr(comment, line_end - comment));
    if (!choices.has_value()) continue;
    const std::size_t line_break = comment == 0 ? std::string_view::npos : text.rfind('\n', comment - 1);
    const std::size_t line_begin = line_break == std::string_view::npos ? 0 : line_break + 1;
    absl::StatusOr<Tunable> tunable = LineParser(file, line_begin, comment).Parse(*choices);
    if (!tunable.ok()) return tunable.status();
    for (const Tunable& other : tunables) {
      if (other.name != tunable->name) continue;
      return absl::InvalidArgumentError(absl::StrCat(file.path, ":", tunable->line, ": tunable: ", tunable->name,
                                                     " is declared already at ", other.file, ":", other.line));
    }
    tunables.push_back(*std::move(tunable));
  }
  return absl::OkStatus();
}

bool IsPython(std::string_view path) { return path.size() > 3 && path.substr(path.size() - 3) == ".py"; }

}  // namespace

absl::StatusOr<std::vector<Tunable>> FindTunables(const Candidate& candidate) {
  std::vector<Tunable> tunables;
  for (const SourceFile& file : candidate.files()) {
    if (!IsPython(file.path)) continue;
    if (absl::Status status = FindInFile(file, tunables); !status.ok()) return status;
  }
  return tunables;
}

absl::StatusOr<Candidate> SetTunables(const Candidate& candidate, const Parameters& values) {
  const absl::StatusOr<std::vector<Tunable>> tunables = FindTunables(candidate);
  if (!tunables.ok()) return tunables.status();
  Parameters left = values;
  std::vector<SourceFile> files = candidate.files();
  // From the end, so that offsets stay right.
  for (auto tunable = tunables->rbegin(); tunable != tunables->rend(); ++tunable) {
    const auto value = left.find(tunable->name);
    if (value == left.end()) continue;
    if (std::find(tunable->choices.begin(), tunable->choices.end(), value->second) == tunable->choices.end()) {
      return absl::InvalidArgumentError(absl::StrCat("tunable ", tunable->name, ": '", value->second, "' is not among its choices (",
                                                     absl::StrJoin(tunable->choices, ", "), ")"));
    }
    for (SourceFile& file : files) {
      if (file.path == tunable->file) file.text.replace(tunable->value_offset, tunable->value.size(), value->second);
    }
    left.erase(value);
  }
  if (!left.empty()) {
    std::vector<std::string> names;
    for (const Tunable& tunable : *tunables) names.push_back(tunable.name);
    return absl::InvalidArgumentError(absl::StrCat("tunable ", left.begin()->first, " is not declared; declared: ",
                                                   names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  return Candidate::Create(std::move(files));
}

}  // namespace maxkernel
