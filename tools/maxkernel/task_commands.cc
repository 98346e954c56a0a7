#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/task/load_task.h"
#include "maxkernel/task/new_task.h"
#include "tools/maxkernel/command.h"
#include "tools/maxkernel/evaluator_source.h"
#include "tools/maxkernel/installation.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct CheckArgs {
  fs::path task;
  EvaluatorChoice evaluator;
  bool json = false;
};

std::string_view LevelName(AdmissionFinding::Level level) {
  switch (level) {
    case AdmissionFinding::Level::kPass:
      return "pass";
    case AdmissionFinding::Level::kWarning:
      return "warning";
    case AdmissionFinding::Level::kFail:
      return "fail";
  }
  return "fail";
}

void PrintReport(const Task& task, const AdmissionReport& report) {
  for (const AdmissionFinding& finding : report.findings) {
    std::cout << LevelName(finding.level) << "  " << finding.check;
    if (!finding.case_name.empty()) std::cout << " (case " << finding.case_name << ")";
    if (!finding.message.empty()) std::cout << ": " << finding.message;
    std::cout << "\n";
  }
  std::cout << task.name << (report.admitted ? " is admitted" : " is not admitted") << "\n";
}

void PrintReportJson(const Task& task, const AdmissionReport& report) {
  Json json = {{"task", task.name}, {"digest", task.digest}, {"admitted", report.admitted}, {"findings", Json::array()}};
  for (const AdmissionFinding& finding : report.findings) {
    json["findings"].push_back({{"level", LevelName(finding.level)},
                                {"check", finding.check},
                                {"case", finding.case_name},
                                {"message", finding.message}});
  }
  std::cout << json.dump(2) << "\n";
}

absl::StatusOr<ExitCode> Check(const CheckArgs& args) {
  const absl::StatusOr<Task> task = LoadTask(args.task);
  if (!task.ok()) return task.status();
  const absl::StatusOr<EvaluatorSource> source = EvaluatorSource::Open(args.evaluator);
  if (!source.ok()) return source.status();
  const absl::StatusOr<AdmissionReport> report = CheckTask(*task, source->options());
  if (!report.ok()) return report.status();
  args.json ? PrintReportJson(*task, *report) : PrintReport(*task, *report);
  return report->admitted ? ExitCode::kSuccess : ExitCode::kNoImprovement;
}

struct ListArgs {
  fs::path folder;
  bool json = false;
};

bool IsTaskFolder(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "task.yaml", error) || fs::exists(folder / "kernel_task.yaml", error);
}

absl::StatusOr<std::vector<fs::path>> TaskFolders(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (IsTaskFolder(entry.path())) folders.push_back(entry.path());
  }
  if (error) return absl::NotFoundError(absl::StrCat("list tasks in ", folder.string(), ": ", error.message(), "; expected a folder of tasks"));
  std::sort(folders.begin(), folders.end());
  return folders;
}

absl::StatusOr<fs::path> TaskLibrary(const ListArgs& args) {
  if (!args.folder.empty()) return args.folder;
  const absl::StatusOr<Installation> installation = FindInstallation();
  if (!installation.ok()) return installation.status();
  return installation->tasks;
}

absl::StatusOr<ExitCode> List(const ListArgs& args) {
  const absl::StatusOr<fs::path> library = TaskLibrary(args);
  if (!library.ok()) return library.status();
  const absl::StatusOr<std::vector<fs::path>> folders = TaskFolders(*library);
  if (!folders.ok()) return folders.status();
  Json json = Json::array();
  for (const fs::path& folder : *folders) {
    const absl::StatusOr<Task> task = LoadTask(folder);
    Json entry = {{"folder", folder.string()}};
    if (task.ok()) {
      entry.update({{"name", task->name}, {"chip", task->chip}, {"score", ToString(task->score)}, {"cases", task->cases.size()},
                    {"description", task->description}});
    } else {
      entry["error"] = std::string(task.status().message());
    }
    json.push_back(entry);
    if (args.json) continue;
    std::cout << folder.string() << "\n";
    if (task.ok()) {
      std::cout << "    " << task->description << "\n    " << task->chip << ", scored by " << ToString(task->score) << ", "
                << task->cases.size() << " cases\n";
    } else {
      std::cout << "    cannot be loaded: " << task.status().message() << "\n";
    }
  }
  if (args.json) std::cout << json.dump(2) << "\n";
  return ExitCode::kSuccess;
}

struct NewArgs {
  std::string name;
  fs::path folder = "tasks";
};

absl::StatusOr<ExitCode> New(const NewArgs& args) {
  const fs::path target = args.folder / args.name;
  if (absl::Status status = NewTask(target); !status.ok()) return status;
  std::cout << target.string() << ": task.yaml, reference.py, inputs.py, baseline.py\n"
            << "edit them, then run: maxkernel task check " << target.string() << "\n";
  return ExitCode::kSuccess;
}

}  // namespace

void AddTask(CLI::App& root, std::vector<Command>& commands) {
  CLI::App* app = root.add_subcommand("task", "Check, make and list tasks");

  const auto check_args = std::make_shared<CheckArgs>();
  CLI::App* check = app->add_subcommand("check", "Prove that a task can be trusted: the reference passes, null candidates fail");
  check->add_option("task", check_args->task, "Task folder")->required()->type_name("FOLDER");
  check->add_flag("--json", check_args->json, "As JSON");
  AddEvaluatorOptions(*check, check_args->evaluator);
  check->footer("Exit status 0 if the task is admitted, else 3.\n\nExample:\n  maxkernel task check tasks/softmax");
  commands.push_back({check, [check_args] { return Check(*check_args); }});

  const auto new_args = std::make_shared<NewArgs>();
  CLI::App* make = app->add_subcommand("new", "Write a small task to start from");
  make->add_option("name", new_args->name, "Lower case letters, digits, _ and -")->required()->type_name("NAME");
  make->add_option("--folder", new_args->folder, "Where to put it; default tasks")->type_name("FOLDER");
  make->footer("Example:\n  maxkernel task new my_kernel");
  commands.push_back({make, [new_args] { return New(*new_args); }});

  const auto list_args = std::make_shared<ListArgs>();
  CLI::App* list = app->add_subcommand("list", "The tasks in a folder");
  list->add_option("folder", list_args->folder, "Default: the task library that comes with maxkernel")->type_name("FOLDER");
  list->add_flag("--json", list_args->json, "As JSON");
  list->footer("Example:\n  maxkernel task list tasks");
  commands.push_back({list, [list_args] { return List(*list_args); }});
}

}  // namespace maxkernel
