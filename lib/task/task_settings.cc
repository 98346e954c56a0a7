#include "lib/task/task_settings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::task {
namespace {

constexpr std::size_t kNameLimit = 100;
constexpr std::size_t kCaseLimit = 1000;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }

bool IsTaskName(const std::string& name) {
  return !name.empty() && name.size() <= kNameLimit &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsLower(c) || IsDigit(c) || c == '_' || c == '-'; });
}

bool IsCaseName(const std::string& name) {
  return !name.empty() && name.size() <= kNameLimit && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.'; });
}

bool IsIdentifier(const std::string& name) {
  return !name.empty() && !IsDigit(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; });
}

// Relative, '/'-separated, without "." and ".." components.
bool IsInnerPath(const std::string& path) {
  if (path.empty() || path.front() == '/') return false;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

absl::StatusOr<std::string> ReadPythonPath(const YamlValue& value) {
  absl::StatusOr<std::string> path = value.Text();
  if (!path.ok()) return path;
  const bool python = path->size() > 3 && path->ends_with(".py");
  if (python && IsInnerPath(*path)) return path;
  return value.Expected("the path of a Python file inside the task's folder, such as common.py");
}

template <typename T, typename Reader>
absl::Status ReadInto(YamlMap& map, const std::string& key, Reader reader, T* out) {
  const std::optional<YamlValue> value = map.Take(key);
  if (!value.has_value()) return absl::OkStatus();
  auto read = reader(*value);
  if (!read.ok()) return read.status();
  *out = *std::move(read);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadText(const YamlValue& value) { return value.Text(); }
absl::StatusOr<bool> ReadBool(const YamlValue& value) { return value.Bool(); }

absl::StatusOr<std::string> ReadTaskName(const YamlValue& value) {
  absl::StatusOr<std::string> name = value.Text();
  if (!name.ok() || IsTaskName(*name)) return name;
  return value.Expected("lower case letters, digits, _ and -, at most 100");
}

absl::StatusOr<std::string> ReadChip(const YamlValue& value) {
  absl::StatusOr<std::string> chip = value.Text();
  if (!chip.ok() || IsTaskName(*chip)) return chip;
  return value.Expected("the name of a chip, such as v6e");
}

// A list without repetitions whose entries `reader` reads.
template <typename T, typename Reader>
absl::StatusOr<std::vector<T>> ReadSet(const YamlValue& value, std::string_view what, Reader reader) {
  const absl::StatusOr<std::vector<YamlValue>> entries = value.List(what);
  if (!entries.ok()) return entries.status();
  std::vector<T> result;
  for (const YamlValue& entry : *entries) {
    absl::StatusOr<T> read = reader(entry);
    if (!read.ok()) return read.status();
    if (std::find(result.begin(), result.end(), *read) != result.end()) return entry.Error("is given twice");
    result.push_back(*std::move(read));
  }
  return result;
}

absl::StatusOr<std::vector<std::string>> ReadFiles(const YamlValue& value) {
  return ReadSet<std::string>(value, "a list of Python files", ReadPythonPath);
}

absl::StatusOr<std::vector<std::int64_t>> ReadDonate(const YamlValue& value) {
  return ReadSet<std::int64_t>(value, "a list of argument positions, such as [0]", [](const YamlValue& entry) -> absl::StatusOr<std::int64_t> {
    const absl::StatusOr<std::int64_t> position = entry.Integer();
    if (!position.ok() || *position < 0) return entry.Expected("the position of an argument, from 0");
    return *position;
  });
}

absl::StatusOr<std::vector<std::string>> ReadAllow(const YamlValue& value) {
  return ReadSet<std::string>(value, "a list of permissions",
                              [](const YamlValue& entry) { return entry.Choice({"aliasing", "unchecked_access"}); });
}

absl::StatusOr<std::string> ReadCompare(const YamlValue& value) { return value.Choice({"exact_order", "sorted_last_axis"}); }

// A fidelity out of `names`, each of which is one.
absl::StatusOr<Fidelity> ReadFidelity(const YamlValue& value, const std::vector<std::string>& names) {
  const absl::StatusOr<std::string> name = value.Choice(names);
  if (!name.ok()) return name.status();
  return *ParseFidelity(*name);
}

absl::StatusOr<std::vector<Fidelity>> ReadValid(const YamlValue& value) {
  absl::StatusOr<std::vector<Fidelity>> valid = ReadSet<Fidelity>(value, "a list of fidelities", [](const YamlValue& entry) {
    return ReadFidelity(entry, {"interpret", "lower", "aot", "cpu", "device"});
  });
  if (!valid.ok()) return valid;
  const bool compares = std::any_of(valid->begin(), valid->end(), [](Fidelity fidelity) {
    return fidelity == Fidelity::kInterpret || fidelity == Fidelity::kCpu || fidelity == Fidelity::kDevice;
  });
  if (!compares) return value.Error("expected at least one of interpret, cpu and device: nothing else compares outputs");
  return valid;
}

absl::Status ReadFidelities(const YamlValue& value, TaskSettings& settings) {
  absl::StatusOr<YamlMap> map = YamlMap::Create(value, "a mapping with valid and score");
  if (!map.ok()) return map.status();
  if (absl::Status status = ReadInto(*map, "valid", ReadValid, &settings.valid); !status.ok()) return status;
  const auto read_score = [](const YamlValue& score) { return ReadFidelity(score, {"estimate", "cpu", "device"}); };
  if (absl::Status status = ReadInto(*map, "score", read_score, &settings.score); !status.ok()) return status;
  return map->Finish();
}

absl::StatusOr<Json> ReadTolerancePair(const YamlValue& value) {
  absl::StatusOr<YamlMap> map = YamlMap::Create(value, "{atol: number, rtol: number}");
  if (!map.ok()) return map.status();
  Json pair = Json::object();
  for (const char* key : {"atol", "rtol"}) {
    const absl::StatusOr<YamlValue> limit = map->Require(key, "a number of 0 or more");
    if (!limit.ok()) return limit.status();
    const absl::StatusOr<double> number = limit->Number();
    if (!number.ok() || *number < 0) return limit->Expected("a number of 0 or more");
    pair[key] = *number;
  }
  if (absl::Status status = map->Finish(); !status.ok()) return status;
  return pair;
}

absl::StatusOr<Json> ReadTolerance(const YamlValue& value) {
  if (!value.IsList()) return ReadTolerancePair(value);
  const absl::StatusOr<std::vector<YamlValue>> entries = value.List("a list");
  if (!entries.ok()) return entries.status();
  if (entries->empty()) return value.Error("expected {atol, rtol}, or a list of such pairs, one per output; the list is empty");
  Json list = Json::array();
  for (const YamlValue& entry : *entries) {
    absl::StatusOr<Json> pair = ReadTolerancePair(entry);
    if (!pair.ok()) return pair;
    list.push_back(*std::move(pair));
  }
  return list;
}

absl::StatusOr<Json> ReadParams(const YamlValue& value) {
  absl::StatusOr<YamlMap> map = YamlMap::Create(value, "a mapping of keyword arguments of get_inputs");
  if (!map.ok()) return map.status();
  for (const std::string& name : map->keys()) {
    if (!IsIdentifier(name)) return value.Error(absl::StrCat("expected keyword arguments of get_inputs; '", name, "' is no Python name"));
    if (name == "rng") return value.Error("'rng' is the generator that get_inputs gets anyway; choose another name");
  }
  return value.ToJson();
}

absl::StatusOr<CaseSettings> ReadCase(const YamlValue& value) {
  absl::StatusOr<YamlMap> map = YamlMap::Create(value, "a mapping with name and params");
  if (!map.ok()) return map.status();
  CaseSettings result;
  const absl::StatusOr<YamlValue> name = map->Require("name", "a name for the case");
  if (!name.ok()) return name.status();
  const absl::StatusOr<std::string> text = name->Text();
  if (!text.ok()) return text.status();
  if (!IsCaseName(*text)) return name->Expected("letters, digits, _, - and ., at most 100");
  result.plain.name = *text;
  for (absl::Status status : {ReadInto(*map, "params", ReadParams, &result.params), ReadInto(*map, "hidden", ReadBool, &result.plain.hidden),
                              ReadInto(*map, "test", ReadBool, &result.plain.test), ReadInto(*map, "score", ReadBool, &result.plain.score),
                              ReadInto(*map, "tolerance", ReadTolerance, &result.tolerance), map->Finish()}) {
    if (!status.ok()) return status;
  }
  if (!result.plain.test && !result.plain.score) {
    return value.Error("is neither tested nor timed; expected test or score to be true");
  }
  return result;
}

absl::Status CheckCases(const YamlValue& list, const std::vector<CaseSettings>& cases) {
  const auto any = [&](bool TaskCase::*flag) {
    return std::any_of(cases.begin(), cases.end(), [flag](const CaseSettings& entry) { return entry.plain.*flag; });
  };
  if (!any(&TaskCase::test)) return list.Error("none is tested; expected at least one case without test: false");
  if (!any(&TaskCase::score)) return list.Error("none is timed; expected at least one case without score: false");
  return absl::OkStatus();
}

absl::Status ReadCases(YamlMap& map, TaskSettings& settings) {
  const absl::StatusOr<YamlValue> list = map.Require("cases", "a list of at least one case");
  if (!list.ok()) return list.status();
  const absl::StatusOr<std::vector<YamlValue>> entries = list->List("a list of cases");
  if (!entries.ok()) return entries.status();
  if (entries->empty() || entries->size() > kCaseLimit) return list->Error(absl::StrCat("expected 1 to 1000 cases, got ", entries->size()));
  for (const YamlValue& entry : *entries) {
    absl::StatusOr<CaseSettings> result = ReadCase(entry);
    if (!result.ok()) return result.status();
    for (const CaseSettings& other : settings.cases) {
      if (other.plain.name == result->plain.name) return entry.Error(absl::StrCat("another case is called '", other.plain.name, "' too"));
    }
    settings.cases.push_back(*std::move(result));
  }
  return CheckCases(*list, settings.cases);
}

absl::Status ReadBaseline(const TaskFolder& folder, YamlMap& map, TaskSettings& settings) {
  const std::optional<YamlValue> value = map.Take("baseline");
  if (!value.has_value()) {
    if (!folder.Has(settings.baseline)) settings.baseline = settings.reference;
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> path = ReadPythonPath(*value);
  if (!path.ok()) return path.status();
  settings.baseline = *std::move(path);
  return absl::OkStatus();
}

// A module that candidates import is copied beside them, so it must not hide the candidate or what they must not see.
absl::Status CheckFiles(const YamlValue& yaml, const TaskSettings& settings) {
  for (const std::string& file : settings.files) {
    if (file == "kernel.py") return yaml.Error("field files: 'kernel.py' is what a candidate's own file is called; choose another name");
    for (const std::string& own : {settings.reference, settings.inputs, settings.baseline}) {
      if (file == own) return yaml.Error(absl::StrCat("field files: '", file, "' is given as reference, inputs or baseline already"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TaskSettings> ReadTaskYaml(const TaskFolder& folder, const YamlValue& yaml) {
  absl::StatusOr<YamlMap> map = YamlMap::Create(yaml, "a mapping of settings, beginning with name");
  if (!map.ok()) return map.status();
  TaskSettings settings;
  const absl::StatusOr<YamlValue> name = map->Require("name", "a name for the task");
  if (!name.ok()) return name.status();
  absl::StatusOr<std::string> text = ReadTaskName(*name);
  if (!text.ok()) return text.status();
  settings.name = *std::move(text);
  for (absl::Status status :
       {ReadInto(*map, "description", ReadText, &settings.description), ReadInto(*map, "reference", ReadPythonPath, &settings.reference),
        ReadInto(*map, "inputs", ReadPythonPath, &settings.inputs), ReadBaseline(folder, *map, settings),
        ReadInto(*map, "files", ReadFiles, &settings.files), ReadInto(*map, "chip", ReadChip, &settings.chip),
        ReadInto(*map, "tolerance", ReadTolerance, &settings.tolerance), ReadInto(*map, "compare", ReadCompare, &settings.compare),
        ReadInto(*map, "donate", ReadDonate, &settings.donate), ReadInto(*map, "allow", ReadAllow, &settings.allow)}) {
    if (!status.ok()) return status;
  }
  if (const std::optional<YamlValue> fidelity = map->Take("fidelity"); fidelity.has_value()) {
    if (absl::Status status = ReadFidelities(*fidelity, settings); !status.ok()) return status;
  }
  const absl::Status cases = ReadCases(*map, settings);
  // A misspelt key explains a missing one.
  if (absl::Status status = map->Finish(); !status.ok()) return status;
  if (!cases.ok()) return cases;
  if (absl::Status status = CheckFiles(yaml, settings); !status.ok()) return status;
  return settings;
}

Json ConfigurationJson(const TaskSettings& settings) {
  Json fidelity = {{"valid", Json::array()}, {"score", ToString(settings.score)}};
  for (const Fidelity valid : settings.valid) fidelity["valid"].push_back(ToString(valid));
  Json cases = Json::array();
  for (const CaseSettings& entry : settings.cases) {
    Json json = {{"name", entry.plain.name}, {"params", entry.params},         {"hidden", entry.plain.hidden},
                 {"test", entry.plain.test}, {"score", entry.plain.score}, {"tolerance", entry.tolerance}};
    if (entry.all_cases) json["all_cases"] = true;
    cases.push_back(std::move(json));
  }
  Json json = {{"layout", settings.layout},
               {"name", settings.name},
               {"description", settings.description},
               {"reference", settings.reference},
               {"inputs", settings.inputs},
               {"baseline", settings.baseline},
               {"files", settings.files},
               {"chip", settings.chip},
               {"fidelity", std::move(fidelity)},
               {"tolerance", settings.tolerance},
               {"cases", std::move(cases)},
               {"compare", settings.compare},
               {"donate", settings.donate},
               {"allow", settings.allow}};
  json.update(settings.extra);
  return json;
}

}  // namespace maxkernel::task
