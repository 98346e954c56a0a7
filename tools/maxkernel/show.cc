#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "maxkernel/store/event_json.h"
#include "tools/maxkernel/command.h"
#include "tools/maxkernel/format.h"
#include "tools/maxkernel/node_name.h"
#include "tools/maxkernel/run_folder.h"
#include "tools/maxkernel/summary.h"

namespace maxkernel {
namespace {

using Json = nlohmann::json;

struct ShowArgs {
  std::filesystem::path run;
  std::string node = "best";
  std::string what = "all";
  bool json = false;
};

Json NodeNames(const std::vector<NodeId>& nodes) {
  Json names = Json::array();
  for (const NodeId node : nodes) names.push_back(ToString(node));
  return names;
}

std::string SourceText(const Candidate& candidate) {
  std::string text;
  for (const SourceFile& file : candidate.files()) {
    if (candidate.files().size() > 1) absl::StrAppend(&text, "# file: ", file.path, "\n");
    absl::StrAppend(&text, file.text);
  }
  return text;
}

std::string DiffToParent(const GraphView& graph, const Node& node) {
  return node.parents.empty() ? "" : DiffText(*graph.node(node.parents.front()).candidate, *node.candidate);
}

// The way from the root along first parents.
std::vector<const Node*> Lineage(const GraphView& graph, const Node& node) {
  std::vector<const Node*> lineage = {&node};
  while (!lineage.back()->parents.empty()) lineage.push_back(&graph.node(lineage.back()->parents.front()));
  return {lineage.rbegin(), lineage.rend()};
}

Json NodeJson(const GraphView& graph, const Node& node) {
  Json json = {{"node", ToString(node.id)},
               {"state", ToString(node.state)},
               {"parents", NodeNames(node.parents)},
               {"children", NodeNames(node.children)},
               {"operator", node.operator_name},
               {"model", node.model},
               {"branches", node.branches},
               {"rationale", node.rationale},
               {"tunables", node.tunables},
               {"content_hash", node.candidate->content_hash()},
               {"diff", DiffToParent(graph, node)},
               {"score", nullptr},
               {"evaluation", nullptr}};
  for (const SourceFile& file : node.candidate->files()) json["files"].push_back({{"path", file.path}, {"text", file.text}});
  if (node.score.has_value()) {
    json["score"] = {{"value", node.score->value},
                     {"low", node.score->low},
                     {"high", node.score->high},
                     {"fidelity", ToString(node.score->fidelity)}};
  }
  if (node.evaluation != nullptr) json["evaluation"] = Json::parse(EvaluationToJson(*node.evaluation));
  return json;
}

void PrintEvaluation(const Node& node) {
  if (node.evaluation == nullptr) return;
  const Evaluation& evaluation = *node.evaluation;
  std::cout << "verdict    " << ToString(evaluation.verdict);
  if (!evaluation.reason.empty()) std::cout << ": " << evaluation.reason;
  std::cout << "\nstages    ";
  for (const StageReport& stage : evaluation.stages) {
    std::cout << " " << ToString(stage.stage) << " " << ToString(stage.status) << " (" << absl::FormatDuration(absl::Trunc(stage.duration, absl::Milliseconds(1)))
              << ")";
  }
  std::cout << "\n";
  if (const std::string times = TimesText(evaluation); !times.empty()) std::cout << "times      " << times << "\n";
  for (const std::string& line : DiagnosticLines(evaluation)) std::cout << "           " << line << "\n";
}

void PrintNode(const GraphView& graph, const Node& node) {
  std::cout << "node       " << ToString(node.id) << ", " << ToString(node.state) << "\n";
  std::cout << "lineage   ";
  for (const Node* ancestor : Lineage(graph, node)) {
    std::cout << " " << ToString(ancestor->id);
    if (ancestor->score.has_value()) std::cout << " " << absl::StrCat(ancestor->score->value) << "x";
  }
  std::cout << "\nmade by    " << node.operator_name << (node.model.empty() ? "" : " with " + node.model) << "\n";
  if (!node.tunables.empty()) std::cout << "tunables   " << ParametersText(node.tunables) << "\n";
  if (!node.rationale.empty()) std::cout << "why        " << node.rationale << "\n";
  if (node.score.has_value()) std::cout << "score      " << ScoreText(*node.score) << "\n";
  PrintEvaluation(node);
  std::cout << "cost       " << CostText(node.cost) << "\n";
  std::cout << "\n" << DiffToParent(graph, node) << "\n" << SourceText(*node.candidate);
}

absl::StatusOr<ExitCode> Show(const ShowArgs& args) {
  const absl::StatusOr<RunSummary> run = ReadRunFolder(args.run);
  if (!run.ok()) return run.status();
  const absl::StatusOr<NodeId> id = FindNode(*run->graph, args.node);
  if (!id.ok()) return id.status();
  const Node& node = run->graph->node(*id);
  if (args.json) {
    std::cout << NodeJson(*run->graph, node).dump(2) << "\n";
  } else if (args.what == "source") {
    std::cout << SourceText(*node.candidate);
  } else if (args.what == "diff") {
    std::cout << DiffToParent(*run->graph, node);
  } else {
    PrintNode(*run->graph, node);
  }
  return ExitCode::kSuccess;
}

}  // namespace

void AddShow(CLI::App& root, std::vector<Command>& commands) {
  const auto args = std::make_shared<ShowArgs>();
  CLI::App* app = root.add_subcommand("show", "A node: source, lineage, diff to its parent, evaluation, diagnostics");
  app->add_option("run", args->run, "Folder of the run")->required()->type_name("FOLDER");
  app->add_option("node", args->node, "n12, best or root; default best")->type_name("NODE");
  app->add_option("--only", args->what, "One part alone: source, diff, or all (the default)")
      ->check(CLI::IsMember({"all", "source", "diff"}))
      ->type_name("PART");
  app->add_flag("--json", args->json, "As JSON");
  app->footer("Examples:\n  maxkernel show runs/softmax-20260101-120000 n12\n  maxkernel show runs/softmax-20260101-120000 best --only diff");
  commands.push_back({app, [args] { return Show(*args); }});
}

}  // namespace maxkernel
