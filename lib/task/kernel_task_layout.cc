#include "lib/task/kernel_task_layout.h"

#include <optional>
#include <utility>

namespace maxkernel::task {
namespace {

// What that system takes where a task gives only one of the two.
constexpr double kDefaultTolerance = 1e-3;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Its task ids are free text; a name is also a folder's name and a key.
std::string NameFrom(std::string id) {
  for (char& c : id) {
    if (!IsNameCharacter(c)) c = '_';
  }
  return id.substr(0, 100);
}

absl::StatusOr<Json> ReadLimit(const YamlValue& value) {
  const auto one = [](const YamlValue& entry) -> absl::StatusOr<Json> {
    const absl::StatusOr<double> number = entry.Number();
    if (!number.ok() || *number < 0) return entry.Expected("a number of 0 or more");
    return Json(*number);
  };
  if (!value.IsList()) return one(value);
  const absl::StatusOr<std::vector<YamlValue>> entries = value.List("a list");
  if (!entries.ok()) return entries.status();
  if (entries->empty()) return value.Error("expected a number, or a list with one number per input set; the list is empty");
  Json list = Json::array();
  for (const YamlValue& entry : *entries) {
    absl::StatusOr<Json> number = one(entry);
    if (!number.ok()) return number.status();
    list.push_back(*std::move(number));
  }
  return list;
}

absl::Status ReadLimits(YamlMap& map, TaskSettings& settings) {
  Json limits = Json::object();
  for (const char* key : {"atol", "rtol"}) {
    limits[key] = nullptr;
    const std::optional<YamlValue> value = map.Take(key);
    if (!value.has_value()) continue;
    absl::StatusOr<Json> limit = ReadLimit(*value);
    if (!limit.ok()) return limit.status();
    limits[key] = *std::move(limit);
  }
  if (limits["atol"].is_null() != limits["rtol"].is_null()) {
    for (Json& limit : limits) {
      if (limit.is_null()) limit = kDefaultTolerance;
    }
  }
  settings.extra.update(limits);
  return absl::OkStatus();
}

CaseSettings AllCases() {
  CaseSettings all;
  all.plain.name = "case_0";
  all.params = {{"index", 0}};
  all.all_cases = true;
  return all;
}

}  // namespace

absl::StatusOr<TaskSettings> ReadKernelTaskYaml(const TaskFolder& folder, const YamlValue& yaml) {
  absl::StatusOr<YamlMap> map = YamlMap::Create(yaml, "a mapping of settings, beginning with task_id");
  if (!map.ok()) return map.status();
  TaskSettings settings;
  settings.layout = "kernel_task";
  settings.inputs = "";
  settings.baseline = folder.Has("optimized.py") ? "optimized.py" : settings.reference;
  settings.name = NameFrom(std::filesystem::absolute(folder.path()).lexically_normal().filename().string());
  if (const std::optional<YamlValue> id = map->Take("task_id"); id.has_value()) {
    const absl::StatusOr<std::string> text = id->Text();
    if (!text.ok()) return text.status();
    if (text->empty()) return id->Expected("a name for the task");
    settings.name = NameFrom(*text);
  }
  if (const std::optional<YamlValue> description = map->Take("description"); description.has_value()) {
    absl::StatusOr<std::string> text = description->Text();
    if (!text.ok()) return text.status();
    settings.description = *std::move(text);
  }
  const absl::StatusOr<YamlValue> code = map->Require("input_gen_code", "Python source that defines get_inputs()");
  if (!code.ok()) return code.status();
  const absl::StatusOr<std::string> source = code->Text();
  if (!source.ok()) return source.status();
  if (!DefinesAtTopLevel(*source, "get_inputs")) {
    return code->Error("defines no get_inputs; expected `def get_inputs():` at the start of a line");
  }
  settings.extra["input_gen_code"] = *source;
  if (absl::Status status = ReadLimits(*map, settings); !status.ok()) return status;
  if (const std::optional<YamlValue> sort = map->Take("sort_before_compare"); sort.has_value()) {
    const absl::StatusOr<bool> value = sort->Bool();
    if (!value.ok()) return value.status();
    if (*value) settings.compare = "sorted_last_axis";
  }
  if (absl::Status status = map->Finish(); !status.ok()) return status;
  settings.cases.push_back(AllCases());
  return settings;
}

}  // namespace maxkernel::task
