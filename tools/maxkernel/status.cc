#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "maxkernel/report/result_file.h"
#include "tools/maxkernel/command.h"
#include "tools/maxkernel/run_folder.h"
#include "tools/maxkernel/specification.h"
#include "tools/maxkernel/summary.h"

namespace maxkernel {
namespace {

struct StatusArgs {
  std::filesystem::path run;
  bool json = false;
};

absl::StatusOr<ExitCode> PrintStatus(const StatusArgs& args) {
  const absl::StatusOr<RunSummary> run = ReadRunFolder(args.run);
  if (!run.ok()) return run.status();
  const absl::StatusOr<RunSpecification> specification = SpecificationFromJson(run->specification);
  if (!specification.ok()) return specification.status();
  if (args.json) {
    std::cout << ResultJson(*run, specification->task.get(), absl::OkStatus());
  } else {
    std::cout << SummaryText(*run, *specification->task, std::filesystem::absolute(args.run).lexically_normal());
  }
  return ExitCode::kSuccess;
}

}  // namespace

void AddStatus(CLI::App& root, std::vector<Command>& commands) {
  const auto args = std::make_shared<StatusArgs>();
  CLI::App* app = root.add_subcommand("status", "What a run has found so far, running or not");
  app->add_option("run", args->run, "Folder of the run")->required()->type_name("FOLDER");
  app->add_flag("--json", args->json, "As result.json has it");
  app->footer("Example:\n  maxkernel status runs/softmax-20260101-120000");
  commands.push_back({app, [args] { return PrintStatus(*args); }});
}

}  // namespace maxkernel
