#include "lib/eval/daemon/runner_result.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "lib/eval/daemon/bounded_text.h"
#include "maxkernel/internal/check.h"
#include "maxkernel/internal/strings.h"
#include "nlohmann/json.hpp"

namespace maxkernel::eval {
namespace {

using Json = nlohmann::json;
using internal::ToAbsl;

constexpr std::size_t kMessageLimit = 16000;  // bytes of the protocol's 4,000 characters
constexpr std::size_t kDiagnosticsLimit = 50;
constexpr std::size_t kCasesLimit = 10000;
constexpr std::size_t kFactsLimit = 1000;
constexpr std::size_t kSamplesLimit = 100000;

// Reads the fields of one object and keeps the first error.
class Reader {
 public:
  Reader(const Json& json, std::string where, absl::Status& status) : json_(json), where_(std::move(where)), status_(status) {
    if (!json_.is_object()) Fail("", "an object");
  }

  std::string Text(const char* name) {
    const Json* field = Find(name);
    if (field == nullptr) return "";
    if (!field->is_string()) return Fail(name, "a string"), "";
    const std::string& text = field->get_ref<const std::string&>();
    if (text.size() > kMessageLimit) return Fail(name, absl::StrCat("a string of at most ", kMessageLimit, " bytes")), "";
    return text;
  }

  std::optional<double> Number(const char* name) {
    const Json* field = Find(name);
    if (field == nullptr) return std::nullopt;
    if (!field->is_number() || !std::isfinite(field->get<double>())) return Fail(name, "a finite number"), std::nullopt;
    return field->get<double>();
  }

  const Json* List(const char* name, std::size_t limit) {
    const Json* field = Find(name);
    if (field == nullptr) return nullptr;
    if (!field->is_array() || field->size() > limit) return Fail(name, absl::StrCat("a list of at most ", limit, " entries")), nullptr;
    return field;
  }

  const Json* Object(const char* name, std::size_t limit) {
    const Json* field = Find(name);
    if (field == nullptr) return nullptr;
    if (!field->is_object() || field->size() > limit) return Fail(name, absl::StrCat("an object of at most ", limit, " members")), nullptr;
    return field;
  }

  template <typename Value>
  Value Named(const char* name, std::optional<Value> value, Value fallback) {
    if (!value.has_value()) Fail(name, "one of the protocol's names");
    return value.value_or(fallback);
  }

  void Fail(std::string_view name, std::string_view expected) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat("result field ", where_, ToAbsl(name), ": expected ", ToAbsl(expected)));
  }

  const std::string& where() const { return where_; }

 private:
  // Null for an absent field, and for null.
  const Json* Find(const char* name) {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  const Json& json_;
  std::string where_;
  absl::Status& status_;
};

// "info" is what the admission tests call a check that passed.
std::optional<Severity> ReadSeverity(const std::string& name) { return name == "info" ? Severity::kNote : ParseSeverity(name); }

Diagnostic ReadDiagnostic(Reader reader) {
  Diagnostic diagnostic;
  diagnostic.severity = reader.Named("severity", ReadSeverity(reader.Text("severity")), Severity::kError);
  diagnostic.class_name = reader.Text("class");
  diagnostic.message = reader.Text("message");
  diagnostic.file = reader.Text("file");
  diagnostic.case_name = reader.Text("case");
  diagnostic.hint = reader.Text("hint");
  if (const std::optional<double> line = reader.Number("line"); line.has_value() && *line >= 1 && *line <= INT32_MAX) {
    diagnostic.line = static_cast<std::int32_t>(*line);
  }
  return diagnostic;
}

void ReadFacts(Reader& reader, std::map<std::string, double>& numbers, std::map<std::string, std::string>& texts) {
  const Json* facts = reader.Object("facts", kFactsLimit);
  if (facts == nullptr) return;
  for (const auto& [name, value] : facts->items()) {
    if (value.is_number() && std::isfinite(value.get<double>())) {
      numbers[name] = value.get<double>();
    } else if (value.is_string() && value.get_ref<const std::string&>().size() <= kMessageLimit) {
      texts[name] = value.get<std::string>();
    } else {
      reader.Fail(absl::StrCat("facts.", name), "a finite number or a short string");
    }
  }
}

std::vector<double> ReadSamples(Reader& reader) {
  std::vector<double> samples;
  const Json* list = reader.List("samples_s", kSamplesLimit);
  if (list == nullptr) return samples;
  for (const Json& sample : *list) {
    if (!sample.is_number() || !std::isfinite(sample.get<double>()) || sample.get<double>() <= 0) {
      reader.Fail("samples_s", "positive finite numbers");
      return {};
    }
    samples.push_back(sample.get<double>());
  }
  return samples;
}

RunnerCase ReadCase(Reader reader) {
  RunnerCase result;
  result.result.name = reader.Text("name");
  if (result.result.name.empty()) reader.Fail("name", "a name");
  result.status = reader.Text("status");
  result.result.max_abs_error = reader.Number("max_abs_error");
  result.result.max_rel_error = reader.Number("max_rel_error");
  result.result.samples_seconds = ReadSamples(reader);
  result.result.floor_seconds = reader.Number("floor_s");
  if (result.result.floor_seconds.has_value() && *result.result.floor_seconds <= 0) result.result.floor_seconds.reset();
  result.result.absent = reader.Text("absent");
  ReadFacts(reader, result.result.facts, result.notes);
  return result;
}

std::optional<RunnerResult::Status> ParseStatus(const std::string& name) {
  if (name == "passed") return RunnerResult::Status::kPassed;
  if (name == "failed") return RunnerResult::Status::kFailed;
  if (name == "task_failed") return RunnerResult::Status::kTaskFailed;
  if (name == "infra_failed") return RunnerResult::Status::kInfraFailed;
  return std::nullopt;
}

RunnerResult ReadResult(Reader reader, Role role, absl::Status& status) {
  RunnerResult result;
  if (reader.Text("role") != ToString(role)) reader.Fail("role", absl::StrCat("\"", ToAbsl(ToString(role)), "\""));
  result.status = reader.Named("status", ParseStatus(reader.Text("status")), RunnerResult::Status::kInfraFailed);
  result.reason = reader.Text("reason");
  if (result.status == RunnerResult::Status::kFailed) {
    result.verdict = ParseVerdict(reader.Text("verdict"));
    if (!result.verdict.has_value() || *result.verdict == Verdict::kCorrect) reader.Fail("verdict", "one of the protocol's verdicts");
  }
  result.identity = reader.Text("identity");
  if (const Json* list = reader.List("diagnostics", kDiagnosticsLimit)) {
    for (const Json& entry : *list) result.diagnostics.push_back(ReadDiagnostic(Reader(entry, "diagnostics.", status)));
  }
  if (const Json* list = reader.List("cases", kCasesLimit)) {
    for (const Json& entry : *list) result.cases.push_back(ReadCase(Reader(entry, "cases.", status)));
  }
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
  ReadFacts(reader, numbers, texts);
  result.facts.insert(numbers.begin(), numbers.end());
  result.facts.insert(texts.begin(), texts.end());
  if (const Json* object = reader.Object("environment", kFactsLimit)) {
    for (const auto& [name, value] : object->items()) {
      if (!value.is_string()) reader.Fail(absl::StrCat("environment.", name), "a string");
      else if (value.get_ref<const std::string&>().size() <= kMessageLimit) result.environment[name] = value.get<std::string>();
    }
  }
  if (const Json* object = reader.Object("timing_s", kFactsLimit)) {
    for (const auto& [name, value] : object->items()) {
      if (value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0) {
        result.timing[name] = absl::Seconds(value.get<double>());
      }
    }
  }
  return result;
}

}  // namespace

std::string_view ToString(Role role) {
  switch (role) {
    case Role::kReference:
      return "reference";
    case Role::kAuthor:
      return "author";
    case Role::kTest:
      return "test";
    case Role::kCompile:
      return "compile";
    case Role::kMeasure:
      return "measure";
    case Role::kAdmit:
      return "admit";
    case Role::kProbe:
      return "probe";
  }
  MAXKERNEL_CHECK(false);
}

absl::StatusOr<std::variant<RunnerProgress, RunnerResult>> ParseRunnerFrame(std::string_view json, Role role) {
  const Json frame = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (frame.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat("a frame that is no JSON: ", Tail(json.substr(0, 80), 80)));
  }
  absl::Status status;
  Reader reader(frame, "", status);
  const std::string kind = reader.Text("kind");
  if (kind == "progress") {
    RunnerProgress progress{reader.Text("message"), reader.Text("case")};
    if (!status.ok()) return status;
    return progress;
  }
  if (kind != "result") reader.Fail("kind", "\"progress\" or \"result\"");
  if (reader.Number("protocol") != 1) reader.Fail("protocol", "1");
  if (!status.ok()) return status;
  RunnerResult result = ReadResult(reader, role, status);
  if (!status.ok()) return status;
  return result;
}

}  // namespace maxkernel::eval
