#include "tools/maxkernel/specification.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "maxkernel/version.h"

namespace maxkernel {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;

Json FilesToJson(const std::vector<SourceFile>& files) {
  Json json = Json::array();
  for (const SourceFile& file : files) json.push_back({{"path", file.path}, {"text", file.text}});
  return json;
}

std::vector<SourceFile> FilesFromJson(const Json& json) {
  std::vector<SourceFile> files;
  for (const Json& file : json) files.push_back({file.at("path").get<std::string>(), file.at("text").get<std::string>()});
  return files;
}

Json TaskToJson(const Task& task) {
  Json valid = Json::array();
  for (const Fidelity fidelity : task.valid) valid.push_back(ToString(fidelity));
  Json cases = Json::array();
  for (const TaskCase& entry : task.cases) {
    cases.push_back({{"name", entry.name}, {"hidden", entry.hidden}, {"test", entry.test}, {"score", entry.score}});
  }
  return {{"name", task.name},     {"description", task.description}, {"chip", task.chip},
          {"valid", valid},        {"score", ToString(task.score)},   {"cases", cases},
          {"baseline", FilesToJson(task.baseline->files())},          {"files", FilesToJson(task.files)},
          {"configuration", task.configuration},                      {"digest", task.digest}};
}

absl::StatusOr<Fidelity> FidelityFromJson(const Json& json) {
  const std::string name = json.get<std::string>();
  const std::optional<Fidelity> fidelity = ParseFidelity(name);
  if (!fidelity.has_value()) return absl::InvalidArgumentError(absl::StrCat("unknown fidelity '", name, "'"));
  return *fidelity;
}

absl::StatusOr<Task> TaskFromJson(const Json& json) {
  Task task;
  task.name = json.at("name").get<std::string>();
  task.description = json.at("description").get<std::string>();
  task.chip = json.at("chip").get<std::string>();
  for (const Json& name : json.at("valid")) {
    const absl::StatusOr<Fidelity> fidelity = FidelityFromJson(name);
    if (!fidelity.ok()) return fidelity.status();
    task.valid.push_back(*fidelity);
  }
  const absl::StatusOr<Fidelity> score = FidelityFromJson(json.at("score"));
  if (!score.ok()) return score.status();
  task.score = *score;
  for (const Json& entry : json.at("cases")) {
    task.cases.push_back({entry.at("name").get<std::string>(), entry.at("hidden").get<bool>(), entry.at("test").get<bool>(),
                          entry.at("score").get<bool>()});
  }
  absl::StatusOr<Candidate> baseline = Candidate::Create(FilesFromJson(json.at("baseline")));
  if (!baseline.ok()) return baseline.status();
  task.baseline = std::make_shared<const Candidate>(*std::move(baseline));
  task.files = FilesFromJson(json.at("files"));
  task.configuration = json.at("configuration").get<std::string>();
  task.digest = json.at("digest").get<std::string>();
  return task;
}

absl::Status Malformed(std::string_view detail) {
  return absl::InvalidArgumentError(absl::StrCat("the run's specification cannot be read: ", std::string(detail),
                                                 "; expected one that 'maxkernel optimize' wrote"));
}

}  // namespace

std::string SpecificationToJson(const RunSpecification& specification) {
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"task", TaskToJson(*specification.task)},
                     {"task_folder", specification.task_folder.string()},
                     {"working_folder", specification.working_folder.string()},
                     {"settings", specification.settings}};
  return json.dump();
}

absl::StatusOr<RunSpecification> SpecificationFromJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("format")) return Malformed("it is no JSON object with a format");
  try {
    if (json.at("format").get<int>() > kFormat) {
      return absl::FailedPreconditionError(absl::StrCat("the run was started by maxkernel ", json.value("version", "of a later version"),
                                                        "; this is ", kVersion, ", which cannot resume it"));
    }
    absl::StatusOr<Task> task = TaskFromJson(json.at("task"));
    if (!task.ok()) return Malformed(std::string(task.status().message()));
    RunSpecification specification;
    specification.task = std::make_shared<const Task>(*std::move(task));
    specification.task_folder = json.at("task_folder").get<std::string>();
    specification.working_folder = json.at("working_folder").get<std::string>();
    specification.settings = json.at("settings").get<SettingMap>();
    return specification;
  } catch (const Json::exception& error) {
    return Malformed(error.what());
  }
}

}  // namespace maxkernel
