#include "lib/eval/daemon/task_snapshot.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::eval {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kNameLimit = 100;
constexpr std::size_t kCasesLimit = 1000;

bool IsFileName(const std::string& name) {
  return !name.empty() && name.size() <= kNameLimit && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  });
}

absl::Status Malformed(std::string_view field, std::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("task configuration: field ", internal::ToAbsl(field), ": expected ", internal::ToAbsl(expected)));
}

absl::StatusOr<bool> ReadFlag(const Json& json, const char* name, bool fallback) {
  const auto found = json.find(name);
  if (found == json.end()) return fallback;
  if (!found->is_boolean()) return Malformed(absl::StrCat("cases.", name), "true or false");
  return found->get<bool>();
}

absl::StatusOr<SnapshotCase> ReadCase(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return Malformed("cases", "entries with a field name");
  SnapshotCase result;
  result.name = json["name"].get<std::string>();
  if (!IsFileName(result.name)) return Malformed("cases.name", "letters, digits, '_', '-' and '.', at most 100");
  struct Flag {
    const char* name;
    bool* value;
  };
  for (const Flag flag : {Flag{"hidden", &result.hidden}, Flag{"test", &result.test}, Flag{"score", &result.score},
                          Flag{"all_cases", &result.all_cases}}) {
    absl::StatusOr<bool> value = ReadFlag(json, flag.name, *flag.value);
    if (!value.ok()) return value.status();
    *flag.value = *value;
  }
  return result;
}

absl::Status ReadCases(const Json& configuration, TaskSnapshot& task) {
  if (!configuration.contains("cases") || !configuration["cases"].is_array() || configuration["cases"].empty() ||
      configuration["cases"].size() > kCasesLimit) {
    return Malformed("cases", absl::StrCat("a list of 1 to ", kCasesLimit, " entries"));
  }
  for (const Json& entry : configuration["cases"]) {
    absl::StatusOr<SnapshotCase> result = ReadCase(entry);
    if (!result.ok()) return result.status();
    for (const SnapshotCase& other : task.cases) {
      if (other.name == result->name) return Malformed("cases.name", absl::StrCat("a name of its own for each; '", other.name, "' occurs twice"));
    }
    task.cases.push_back(std::move(*result));
  }
  return absl::OkStatus();
}

absl::Status ReadFidelities(const Json& configuration, TaskSnapshot& task) {
  if (!configuration.contains("fidelity") || !configuration["fidelity"].is_object() || !configuration["fidelity"].contains("valid") ||
      !configuration["fidelity"]["valid"].is_array()) {
    return Malformed("fidelity.valid", "a list of fidelities");
  }
  for (const Json& name : configuration["fidelity"]["valid"]) {
    const std::optional<Fidelity> fidelity = name.is_string() ? ParseFidelity(name.get<std::string>()) : std::nullopt;
    if (!fidelity.has_value()) return Malformed("fidelity.valid", absl::StrCat("names of fidelities, not ", name.dump()));
    task.valid.push_back(*fidelity);
  }
  return absl::OkStatus();
}

absl::Status FindSharedFiles(const Json& configuration, TaskSnapshot& task) {
  const auto names = configuration.find("files");
  if (names == configuration.end()) return absl::OkStatus();
  if (!names->is_array()) return Malformed("files", "a list of paths");
  for (const Json& name : *names) {
    const auto file = std::find_if(task.files.begin(), task.files.end(), [&](const SourceFile& file) { return name == file.path; });
    if (file == task.files.end()) return Malformed("files", absl::StrCat("files of the task; ", name.dump(), " is none"));
    task.shared_files.push_back(*file);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TaskSnapshot> TaskSnapshot::Create(std::string name, const std::string& configuration_json, std::vector<SourceFile> files) {
  TaskSnapshot task;
  task.name = std::move(name);
  if (!IsFileName(task.name)) return absl::InvalidArgumentError("task name: expected letters, digits, '_', '-' and '.', at most 100");
  task.configuration = Json::parse(configuration_json, nullptr, /*allow_exceptions=*/false);
  if (!task.configuration.is_object()) return absl::InvalidArgumentError("task configuration: expected a JSON object");
  // The rules about paths are those of a candidate, which however needs an entry that is not empty.
  task.files = files;
  files.insert(files.begin(), {".entry", "task"});
  absl::StatusOr<Candidate> checked = Candidate::Create(std::move(files));
  if (!checked.ok()) return absl::InvalidArgumentError(absl::StrCat("task files: ", checked.status().message()));
  if (absl::Status status = ReadCases(task.configuration, task); !status.ok()) return status;
  if (absl::Status status = ReadFidelities(task.configuration, task); !status.ok()) return status;
  if (absl::Status status = FindSharedFiles(task.configuration, task); !status.ok()) return status;
  const auto chip = task.configuration.find("chip");
  if (chip == task.configuration.end() || !chip->is_string()) return Malformed("chip", "the name of a chip");
  task.chip = chip->get<std::string>();

  std::vector<SourceFile> sorted = task.files;
  std::sort(sorted.begin(), sorted.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  std::string identity = absl::StrCat(task.name, "\n", task.configuration.dump(), "\n");
  for (const SourceFile& file : sorted) absl::StrAppend(&identity, file.path, " ", Sha256Hex(file.text), "\n");
  task.digest = Sha256Hex(identity);
  return task;
}

}  // namespace maxkernel::eval
