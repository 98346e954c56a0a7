#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "maxkernel/report/result_file.h"
#include "maxkernel/store/event_json.h"
#include "tools/maxkernel/command.h"
#include "tools/maxkernel/format.h"
#include "tools/maxkernel/run_folder.h"
#include "tools/maxkernel/specification.h"
#include "tools/maxkernel/summary.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

struct BestArgs {
  fs::path run;
  fs::path out;
};

absl::Status Export(const RunSummary& run, const Task& task, NodeId best, const fs::path& out) {
  const Node& node = run.graph->node(best);
  std::vector<std::pair<fs::path, std::string>> files = {
      {"evaluation.json", EvaluationToJson(*node.evaluation) + "\n"},
      {"baseline-evaluation.json", EvaluationToJson(*run.graph->node(kRootNode).evaluation) + "\n"},
      {"change.diff", DiffFromRoot(*run.graph, best)},
      {"result.json", ResultJson(run, &task, absl::OkStatus())}};
  for (const SourceFile& file : node.candidate->files()) files.emplace_back(fs::path("source") / file.path, file.text);
  for (const auto& [path, text] : files) {
    std::error_code error;
    fs::create_directories((out / path).parent_path(), error);
    if (absl::Status status = WriteFile(out / path, text); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> Best(const BestArgs& args) {
  const absl::StatusOr<RunSummary> run = ReadRunFolder(args.run);
  if (!run.ok()) return run.status();
  const absl::StatusOr<RunSpecification> specification = SpecificationFromJson(run->specification);
  if (!specification.ok()) return specification.status();
  const std::optional<NodeId> champion = run->graph->champion();
  if (!champion.has_value()) {
    std::cerr << "maxkernel best: the run has no scored candidate\n";
    return ExitCode::kNoImprovement;
  }
  const Node& best = run->graph->node(*champion);
  const bool improved = *champion != kRootNode;
  std::cerr << ToString(best.id) << "  " << (best.score.has_value() ? ScoreText(*best.score) : "the baseline")
            << (improved ? "" : ": nothing better than the baseline was found") << "\n";
  if (args.out.empty()) {
    std::cout << best.candidate->entry().text;
  } else {
    if (absl::Status status = Export(*run, *specification->task, *champion, args.out); !status.ok()) return status;
    std::cerr << "written to " << args.out.string() << ": source/, change.diff, evaluation.json, baseline-evaluation.json, result.json\n";
  }
  return improved ? ExitCode::kSuccess : ExitCode::kNoImprovement;
}

}  // namespace

void AddBest(CLI::App& root, std::vector<Command>& commands) {
  const auto args = std::make_shared<BestArgs>();
  CLI::App* app = root.add_subcommand("best", "The best candidate of a run, with its evidence");
  app->add_option("run", args->run, "Folder of the run")->required()->type_name("FOLDER");
  app->add_option("--out", args->out, "Export source, diff and evaluations to this folder; default: print the source")
      ->type_name("FOLDER");
  app->footer("Examples:\n  maxkernel best runs/softmax-20260101-120000 > kernel.py\n  maxkernel best runs/softmax-20260101-120000 --out winner");
  commands.push_back({app, [args] { return Best(*args); }});
}

}  // namespace maxkernel
