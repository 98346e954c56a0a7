#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "maxkernel/store/sqlite_journal.h"
#include "tools/maxkernel/command.h"
#include "tools/maxkernel/run_search.h"
#include "tools/maxkernel/setting_flags.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

struct ResumeArgs {
  fs::path run;
  SettingFlags settings;
  EvaluatorChoice evaluator;
  bool json = false;
  bool quiet = false;
};

// What may differ from one start of a run to the next: where things are, and how much there is to spend.
std::vector<std::string> ChangeableKeys() {
  return {"evaluator",    "budget",      "evaluate_workers", "expand_workers",
          "llm.base_url", "llm.key_env", "llm.key_file",     "llm.requests_per_minute"};
}

absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(const RunFolder& folder) {
  std::error_code error;
  const bool exists = fs::exists(folder.journal_file(), error);
  return OpenSqliteJournal(folder.journal_file(), {.mode = exists ? SqliteJournalOptions::Mode::kWrite : SqliteJournalOptions::Mode::kCreate});
}

// From the journal, or from the file beside it if the run was cut short before its first event.
absl::StatusOr<RunSpecification> FindSpecification(const RunFolder& folder, const RunSummary& run) {
  if (run.started) return SpecificationFromJson(run.specification);
  const absl::StatusOr<std::string> text = ReadFile(folder.specification_file());
  if (!text.ok()) return text.status();
  return SpecificationFromJson(*text);
}

absl::StatusOr<ExitCode> Resume(const ResumeArgs& args) {
  const absl::StatusOr<SettingSource> given = args.settings.Given();
  if (!given.ok()) return given.status();
  const absl::StatusOr<RunFolder> folder = RunFolder::Open(args.run);
  if (!folder.ok()) return folder.status();
  absl::StatusOr<std::unique_ptr<Journal>> journal = OpenJournal(*folder);
  if (!journal.ok()) return journal.status();
  const absl::StatusOr<RunSummary> run = ReadRun(**journal);
  if (!run.ok()) return run.status();
  std::error_code error;
  const bool has_result = fs::exists(folder->result_file(), error);
  if (run->end_reason.has_value() && has_result) {
    return absl::FailedPreconditionError(absl::StrCat("run folder ", args.run.string(), ": the run has ended (", *run->end_reason,
                                                      "); see it with 'maxkernel status ", args.run.string(), "'"));
  }
  const absl::StatusOr<RunSpecification> specification = FindSpecification(*folder, *run);
  if (!specification.ok()) return specification.status();
  absl::StatusOr<SearchSettings> settings = ParseSettings(MergeSources({SettingSource{specification->settings, {}}, *given}));
  if (!settings.ok()) return settings.status();
  // Relative paths mean what they meant when the run was started.
  fs::current_path(specification->working_folder, error);
  if (absl::Status status = ReadLlmKey(*settings); !status.ok()) return status;

  RunArgs next{.folder = *folder, .specification = *specification, .settings = *settings, .evaluator = args.evaluator};
  next.evaluator.address = settings->evaluator;
  next.evaluator.state_folder = folder->daemon_folder();
  next.journal = *std::move(journal);
  next.seed = run->started ? run->seed : settings->seed.value_or(0);
  if (given->values.contains("budget")) next.new_budget = settings->budget;
  next.json = args.json;
  next.quiet = args.quiet;
  if (run->end_reason.has_value()) return FinishEndedRun(next, *run);
  if (!args.json && !args.quiet) {
    std::cerr << specification->task->name << ": resuming after " << run->events << " events, budget "
              << BudgetText(next.new_budget.value_or(run->started ? run->budget.limits : settings->budget)) << "\n";
  }
  return RunSearch(std::move(next));
}

}  // namespace

void AddResume(CLI::App& root, std::vector<Command>& commands) {
  const auto args = std::make_shared<ResumeArgs>();
  CLI::App* app = root.add_subcommand("resume", "Go on with a run that was cut short");
  app->add_option("run", args->run, "Folder of the run")->required()->type_name("FOLDER");
  app->add_flag("--json", args->json, "Events as JSON lines on standard output, the result as the last one");
  app->add_flag("--quiet", args->quiet, "No progress");
  AddSettingFlags(*app, args->settings, ChangeableKeys());
  AddDaemonOptions(*app, args->evaluator);
  app->footer(
      "The task, the policies and the seed are those that the run was started with, whatever has become of the task's folder.\n"
      "\n"
      "Examples:\n"
      "  maxkernel resume runs/softmax-20260101-120000\n"
      "  maxkernel resume runs/softmax-20260101-120000 --budget evaluations=200");
  commands.push_back({app, [args] { return Resume(*args); }});
}

}  // namespace maxkernel
