#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "maxkernel/store/sqlite_journal.h"
#include "maxkernel/task/load_task.h"
#include "tools/maxkernel/command.h"
#include "tools/maxkernel/policy_setup.h"
#include "tools/maxkernel/run_search.h"
#include "tools/maxkernel/setting_flags.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

struct OptimizeArgs {
  fs::path task;
  fs::path run;
  SettingFlags settings;
  EvaluatorChoice evaluator;
  bool json = false;
  bool quiet = false;
};

std::uint64_t SeedFromClock() { return static_cast<std::uint64_t>(absl::ToUnixNanos(absl::Now())) % 1'000'000'000; }

// The settings in full, as the run records them.
absl::StatusOr<SettingSource> FullSettings(const OptimizeArgs& args) {
  const absl::StatusOr<SettingSource> given = args.settings.Given();
  if (!given.ok()) return given.status();
  SettingSource source = MergeSources({SettingSource{DefaultSettings(), {}}, *given});
  if (!source.values.contains("seed")) source.values["seed"] = {absl::StrCat(SeedFromClock())};
  return source;
}

absl::StatusOr<RunSpecification> MakeSpecification(const OptimizeArgs& args, const SettingSource& settings) {
  absl::StatusOr<Task> task = LoadTask(args.task);
  if (!task.ok()) return task.status();
  RunSpecification specification;
  specification.task = std::make_shared<const Task>(*std::move(task));
  specification.task_folder = fs::absolute(args.task).lexically_normal();
  specification.working_folder = fs::current_path();
  specification.settings = settings.values;
  return specification;
}

absl::StatusOr<ExitCode> Start(const OptimizeArgs& args, const RunFolder& folder, const RunSpecification& specification,
                               SearchSettings settings) {
  if (absl::Status status = WriteFile(folder.specification_file(), SpecificationToJson(specification)); !status.ok()) {
    return WriteFailure(folder, specification.task.get(), status);
  }
  absl::StatusOr<std::unique_ptr<Journal>> journal = OpenSqliteJournal(folder.journal_file());
  if (!journal.ok()) return WriteFailure(folder, specification.task.get(), journal.status());
  RunArgs run{.folder = folder, .specification = specification, .settings = settings, .evaluator = args.evaluator};
  run.evaluator.address = settings.evaluator;
  run.evaluator.state_folder = folder.daemon_folder();
  run.journal = *std::move(journal);
  run.seed = *settings.seed;
  run.json = args.json;
  run.quiet = args.quiet;
  if (!args.json && !args.quiet) {
    std::cerr << specification.task->name << ": select " << settings.select.ToString() << ", budget " << BudgetText(settings.budget)
              << ", seed " << *settings.seed << ", run folder " << folder.path().string() << "\n";
  }
  return RunSearch(std::move(run));
}

absl::StatusOr<ExitCode> Optimize(const OptimizeArgs& args) {
  const absl::StatusOr<SettingSource> source = FullSettings(args);
  if (!source.ok()) return source.status();
  absl::StatusOr<SearchSettings> settings = ParseSettings(*source);
  if (!settings.ok()) return settings.status();
  if (absl::Status status = ReadLlmKey(*settings); !status.ok()) return status;
  const absl::StatusOr<RunSpecification> specification = MakeSpecification(args, *source);
  absl::Status status = specification.status();
  if (status.ok()) {
    const std::unique_ptr<Clock> clock = MakeSystemClock();
    status = MakePolicies(*settings, specification->task, *clock).status();
  }
  // A program that names the folder waits for the result file in it, whatever happens; nobody waits for one in a folder yet unnamed.
  if (!status.ok() && args.run.empty()) return status;
  const absl::StatusOr<RunFolder> folder =
      RunFolder::Create(args.run.empty() ? DefaultRunFolder(specification->task->name, absl::Now()) : args.run);
  if (!folder.ok()) return folder.status();
  if (!status.ok()) return WriteFailure(*folder, specification.ok() ? specification->task.get() : nullptr, status);
  return Start(args, *folder, *specification, *std::move(settings));
}

}  // namespace

void AddOptimize(CLI::App& root, std::vector<Command>& commands) {
  const auto args = std::make_shared<OptimizeArgs>();
  CLI::App* app = root.add_subcommand("optimize", "Search for a faster kernel for a task");
  app->add_option("task", args->task, "Task folder, such as tasks/softmax")->required()->type_name("FOLDER");
  app->add_option("--run", args->run, "Folder for the run; default runs/<task>-<time>")->type_name("FOLDER");
  app->add_flag("--json", args->json, "Events as JSON lines on standard output, the result as the last one");
  app->add_flag("--quiet", args->quiet, "No progress");
  AddSettingFlags(*app, args->settings);
  AddDaemonOptions(*app, args->evaluator);
  app->footer(
      "Ctrl-C finishes what is in flight and ends the run; twice cancels it. A run that was killed goes on with 'maxkernel resume'.\n"
      "\n"
      "Examples:\n"
      "  maxkernel optimize tasks/matmul_epilogue --budget evaluations=40,wall=5m\n"
      "  maxkernel optimize tasks/softmax --select 'beam(width=4)' --expand 'autotune(method=random)' --seed 7\n"
      "  maxkernel optimize tasks/rms_norm --llm-base-url http://127.0.0.1:8000/v1 --llm-model qwen --budget tokens=2e6");
  commands.push_back({app, [args] { return Optimize(*args); }});
}

}  // namespace maxkernel
