#include "lib/task/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::task {
namespace {

constexpr int kDepthLimit = 50;
constexpr int kValueLimit = 10'000;
constexpr char kStringTag[] = "tag:yaml.org,2002:str";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A scalar in quotes, or tagged as text.
bool IsQuoted(const YAML::Node& node) { return node.Tag() == "!" || node.Tag() == kStringTag; }

std::optional<bool> ParseBool(std::string_view text) {
  for (const char* word : {"true", "True", "TRUE"}) {
    if (text == word) return true;
  }
  for (const char* word : {"false", "False", "FALSE"}) {
    if (text == word) return false;
  }
  return std::nullopt;
}

template <typename Number>
std::optional<Number> Convert(std::string_view text, int base = 10) {
  Number number{};
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<Number>) {
    result = std::from_chars(text.data(), text.data() + text.size(), number);
  } else {
    result = std::from_chars(text.data(), text.data() + text.size(), number, base);
  }
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::string_view WithoutPlus(std::string_view text) {
  return text.size() > 1 && text.front() == '+' && text[1] != '-' ? text.substr(1) : text;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  if (text.substr(0, 2) == "0x") return Convert<std::int64_t>(text.substr(2), 16);
  if (text.substr(0, 2) == "0o") return Convert<std::int64_t>(text.substr(2), 8);
  return Convert<std::int64_t>(WithoutPlus(text));
}

bool LooksLikeNumber(std::string_view text) {
  const std::string_view digits = text.substr(text.find_first_not_of("+-") == std::string_view::npos ? text.size() : text.find_first_not_of("+-"));
  return !digits.empty() && (IsDigit(digits[0]) || (digits[0] == '.' && digits.size() > 1 && IsDigit(digits[1])));
}

std::optional<double> ParseNumber(std::string_view text) {
  if (!LooksLikeNumber(text)) return std::nullopt;
  std::string_view digits = WithoutPlus(text);
  // "5." and ".5" are numbers in YAML.
  return Convert<double>(digits);
}

bool IsInfiniteOrNan(std::string_view text) {
  std::string lower;
  for (const char c : WithoutPlus(text)) lower.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  return lower == ".inf" || lower == "-.inf" || lower == ".nan";
}

// Takes no notice of anything.
class Ignore final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// YAML::Load ignores all documents but the first, and YAML::LoadAll of "," in yaml-cpp 0.7 never ends.
bool HasSeveralDocuments(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Ignore ignore;
  return parser.HandleNextDocument(ignore) && parser.HandleNextDocument(ignore);
}

std::string WithLine(const std::string& file, int line) { return line > 0 ? absl::StrCat(file, ":", line) : file; }

}  // namespace

absl::StatusOr<YamlValue> YamlValue::Parse(const std::string& file, const std::string& text) {
  try {
    if (HasSeveralDocuments(text)) return absl::InvalidArgumentError(absl::StrCat(file, ": expected one YAML document, got several"));
    return YamlValue(file, YAML::Load(text), 1, "");
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(WithLine(file, error.mark.is_null() ? 0 : error.mark.line + 1), ": not valid YAML: ", error.msg));
  }
}

absl::Status YamlValue::Error(std::string_view message) const {
  const std::string field = path_.empty() ? "" : absl::StrCat("field ", path_, ": ");
  return absl::InvalidArgumentError(absl::StrCat(WithLine(file_, line_), ": ", field, internal::ToAbsl(message)));
}

absl::Status YamlValue::Expected(std::string_view what) const {
  return Error(absl::StrCat("expected ", internal::ToAbsl(what), ", got ", Shown()));
}

std::string YamlValue::Shown() const {
  if (node_.IsMap()) return "a mapping";
  if (node_.IsSequence()) return "a list";
  if (!node_.IsScalar()) return "nothing";
  constexpr std::size_t kLongest = 60;
  const std::string text = node_.Scalar();
  return text.size() <= kLongest ? absl::StrCat("'", text, "'") : absl::StrCat("'", text.substr(0, kLongest), "...'");
}

YamlValue YamlValue::Child(const YAML::Node& node, const std::string& step) const {
  const YAML::Mark mark = node.Mark();
  // An empty value has no place of its own.
  const int line = mark.is_null() || node.IsNull() ? line_ : mark.line + 1;
  return YamlValue(file_, node, line, step.front() == '[' || path_.empty() ? path_ + step : absl::StrCat(path_, ".", step));
}

absl::StatusOr<std::string> YamlValue::Text() const {
  if (!node_.IsScalar()) return Expected("a text");
  return node_.Scalar();
}

absl::StatusOr<bool> YamlValue::Bool() const {
  const std::optional<bool> value = node_.IsScalar() && !IsQuoted(node_) ? ParseBool(node_.Scalar()) : std::nullopt;
  if (!value.has_value()) return Expected("true or false");
  return *value;
}

absl::StatusOr<std::int64_t> YamlValue::Integer() const {
  const std::optional<std::int64_t> value = node_.IsScalar() && !IsQuoted(node_) ? ParseInteger(node_.Scalar()) : std::nullopt;
  if (!value.has_value()) return Expected("an integer");
  return *value;
}

absl::StatusOr<double> YamlValue::Number() const {
  const std::optional<double> value = node_.IsScalar() && !IsQuoted(node_) ? ParseNumber(node_.Scalar()) : std::nullopt;
  if (!value.has_value()) return Expected("a number");
  return *value;
}

absl::StatusOr<std::string> YamlValue::Choice(const std::vector<std::string>& names) const {
  const std::string expected = absl::StrCat("one of ", absl::StrJoin(names, ", "));
  if (!node_.IsScalar()) return Expected(expected);
  const std::string given = node_.Scalar();
  if (std::find(names.begin(), names.end(), given) != names.end()) return given;
  return Error(absl::StrCat("expected ", expected, ", got '", given, "'", internal::DidYouMean(given, names)));
}

absl::StatusOr<std::vector<YamlValue>> YamlValue::List(std::string_view what) const {
  if (!node_.IsSequence()) return Expected(what);
  std::vector<YamlValue> values;
  for (const YAML::Node& node : node_) values.push_back(Child(node, absl::StrCat("[", values.size(), "]")));
  return values;
}

absl::StatusOr<Json> YamlValue::ScalarToJson() const {
  const std::string& text = node_.Scalar();
  if (IsQuoted(node_)) return Json(text);
  if (const std::optional<bool> value = ParseBool(text); value.has_value()) return Json(*value);
  if (const std::optional<std::int64_t> value = ParseInteger(text); value.has_value()) return Json(*value);
  if (const std::optional<double> value = ParseNumber(text); value.has_value()) return Json(*value);
  if (IsInfiniteOrNan(text)) return Expected("a finite number");
  return Json(text);
}

absl::StatusOr<Json> YamlValue::ToJson() const {
  int budget = kValueLimit;
  return ToJson(0, budget);
}

absl::StatusOr<Json> YamlValue::ToJson(int depth, int& budget) const {
  if (depth > kDepthLimit) return Error("is nested too deeply; expected at most 50 levels");
  if (--budget < 0) return Error("is too large; expected at most 10000 values");
  if (node_.IsNull()) return Json(nullptr);
  if (node_.IsScalar()) return ScalarToJson();
  if (node_.IsSequence()) {
    Json json = Json::array();
    const absl::StatusOr<std::vector<YamlValue>> values = List("a list");
    for (const YamlValue& value : *values) {
      absl::StatusOr<Json> element = value.ToJson(depth + 1, budget);
      if (!element.ok()) return element.status();
      json.push_back(*std::move(element));
    }
    return json;
  }
  absl::StatusOr<YamlMap> map = YamlMap::Create(*this, "a mapping");
  if (!map.ok()) return map.status();
  Json json = Json::object();
  for (const std::string& key : map->keys()) {
    const std::optional<YamlValue> value = map->Take(key);
    absl::StatusOr<Json> element = value.has_value() ? value->ToJson(depth + 1, budget) : Json(nullptr);
    if (!element.ok()) return element.status();
    json[key] = *std::move(element);
  }
  return json;
}

absl::StatusOr<YamlMap> YamlMap::Create(const YamlValue& value, std::string_view what) {
  if (!value.IsMap()) return value.Expected(what);
  YamlMap map(value);
  for (const auto& item : value.node_) {
    YamlValue key = value.Child(item.first, "?");
    if (!item.first.IsScalar()) return key.Error("expected a name as the key");
    const std::string name = item.first.Scalar();
    YamlValue child = value.Child(item.second, name);
    child.line_ = std::max(child.line_, key.line_);
    if (std::any_of(map.entries_.begin(), map.entries_.end(), [&](const Entry& entry) { return entry.key == name; })) {
      return child.Error("is given twice");
    }
    map.entries_.push_back({name, std::move(child), false});
  }
  return map;
}

std::optional<YamlValue> YamlMap::Take(const std::string& key) {
  known_.push_back(key);
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.taken = true;
    if (entry.value.IsNull()) return std::nullopt;
    return entry.value;
  }
  return std::nullopt;
}

absl::StatusOr<YamlValue> YamlMap::Require(const std::string& key, std::string_view what) {
  std::optional<YamlValue> value = Take(key);
  if (value.has_value()) return *std::move(value);
  for (const Entry& entry : entries_) {
    if (!entry.taken && internal::Nearest(entry.key, {key}) == key) return entry.value.Error(absl::StrCat("unknown key; did you mean '", key, "'?"));
  }
  return value_.Error(absl::StrCat("'", key, "' is missing; expected ", internal::ToAbsl(what)));
}

absl::Status YamlMap::Finish() const {
  for (const Entry& entry : entries_) {
    if (entry.taken) continue;
    const std::string suggestion = internal::DidYouMean(entry.key, known_);
    return entry.value.Error(absl::StrCat("unknown key", suggestion.empty() ? absl::StrCat("; the known ones are ", absl::StrJoin(known_, ", ")) : suggestion));
  }
  return absl::OkStatus();
}

std::vector<std::string> YamlMap::keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries_) keys.push_back(entry.key);
  return keys;
}

}  // namespace maxkernel::task
