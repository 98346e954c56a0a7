#include "maxkernel/task/load_task.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/task/kernel_task_layout.h"
#include "lib/task/task_folder.h"
#include "lib/task/task_settings.h"
#include "lib/task/yaml_reader.h"

namespace maxkernel {
namespace task {
namespace {

// What every candidate's one file is called.
constexpr char kCandidateFile[] = "kernel.py";

absl::Status CheckDefines(const TaskFolder& folder, const std::string& path, const std::string& text, const char* name, const char* form) {
  if (DefinesAtTopLevel(text, name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(folder.Shown(path), ": defines no ", name, "; expected `def ", form, ":` at the start of a line"));
}

// Reads each file once, in the order of the requests.
class FileCollector {
 public:
  explicit FileCollector(const TaskFolder& folder) : folder_(folder) {}

  absl::StatusOr<std::string> Add(const std::string& path) {
    for (const SourceFile& file : files_) {
      if (file.path == path) return file.text;
    }
    absl::StatusOr<std::string> text = folder_.Read(path);
    if (text.ok()) files_.push_back({path, *text});
    return text;
  }
  std::vector<SourceFile> Take() && { return std::move(files_); }

 private:
  const TaskFolder& folder_;
  std::vector<SourceFile> files_;
};

constexpr char kComputation[] = "computation(*dynamic_args, *static_args)";

absl::Status ReadFiles(const TaskFolder& folder, const TaskSettings& settings, Task& task) {
  FileCollector files(folder);
  const absl::StatusOr<std::string> reference = files.Add(settings.reference);
  if (!reference.ok()) return reference.status();
  if (absl::Status status = CheckDefines(folder, settings.reference, *reference, "computation", kComputation); !status.ok()) return status;
  if (!settings.inputs.empty()) {
    const absl::StatusOr<std::string> inputs = files.Add(settings.inputs);
    if (!inputs.ok()) return inputs.status();
    if (absl::Status status = CheckDefines(folder, settings.inputs, *inputs, "get_inputs", "get_inputs(rng, **params)"); !status.ok()) {
      return status;
    }
  }
  const absl::StatusOr<std::string> baseline = files.Add(settings.baseline);
  if (!baseline.ok()) return baseline.status();
  if (absl::Status status = CheckDefines(folder, settings.baseline, *baseline, "computation", kComputation); !status.ok()) return status;
  for (const std::string& path : settings.files) {
    if (absl::Status status = files.Add(path).status(); !status.ok()) return status;
  }
  absl::StatusOr<Candidate> candidate = Candidate::FromText(kCandidateFile, *baseline);
  if (!candidate.ok()) {
    return absl::Status(candidate.status().code(), absl::StrCat(folder.Shown(settings.baseline), ": ", candidate.status().message()));
  }
  task.baseline = std::make_shared<const Candidate>(*std::move(candidate));
  task.files = std::move(files).Take();
  return absl::OkStatus();
}

std::string DigestOf(const Task& task) {
  std::map<std::string, std::string> hashes;
  for (const SourceFile& file : task.files) hashes[file.path] = Sha256Hex(file.text);
  std::string text = task.configuration;
  for (const auto& [path, hash] : hashes) absl::StrAppend(&text, "\n", path, " ", hash);
  return Sha256Hex(text);
}

absl::StatusOr<TaskSettings> ReadSettings(const TaskFolder& folder) {
  for (const char* name : {kTaskFile, kKernelTaskFile}) {
    if (!folder.Has(name)) continue;
    const absl::StatusOr<std::string> text = folder.Read(name);
    if (!text.ok()) return text.status();
    const absl::StatusOr<YamlValue> yaml = YamlValue::Parse(folder.Shown(name), *text);
    if (!yaml.ok()) return yaml.status();
    return name == kTaskFile ? ReadTaskYaml(folder, *yaml) : ReadKernelTaskYaml(folder, *yaml);
  }
  return absl::NotFoundError(absl::StrCat("task ", folder.path().string(), ": holds neither ", kTaskFile, " nor ", kKernelTaskFile,
                                          "; `maxkernel task new` writes a task to start from"));
}

}  // namespace
}  // namespace task

absl::StatusOr<Task> LoadTask(const std::filesystem::path& path) {
  const absl::StatusOr<task::TaskFolder> folder = task::TaskFolder::Open(path);
  if (!folder.ok()) return folder.status();
  const absl::StatusOr<task::TaskSettings> settings = task::ReadSettings(*folder);
  if (!settings.ok()) return settings.status();
  Task task;
  if (absl::Status status = task::ReadFiles(*folder, *settings, task); !status.ok()) return status;
  task.name = settings->name;
  task.description = settings->description;
  task.chip = settings->chip;
  task.valid = settings->valid;
  task.score = settings->score;
  for (const task::CaseSettings& settings_case : settings->cases) task.cases.push_back(settings_case.plain);
  task.configuration = task::ConfigurationJson(*settings).dump();
  task.digest = task::DigestOf(task);
  return task;
}

}  // namespace maxkernel
