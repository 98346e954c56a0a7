#include "tools/maxkernel/summary.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "maxkernel/report/result_file.h"
#include "tools/maxkernel/format.h"

namespace maxkernel {
namespace {

void AppendRow(std::string& text, std::string_view name, std::string_view value) {
  absl::StrAppendFormat(&text, "%-10s %s\n", std::string(name), std::string(value));
}

std::string NodeText(const Node& node) {
  std::string text = ToString(node.id);
  if (node.score.has_value() && node.id != kRootNode) absl::StrAppend(&text, "  ", ScoreText(*node.score));
  if (node.evaluation == nullptr) return absl::StrCat(text, "  not evaluated");
  if (node.evaluation->verdict != Verdict::kCorrect) {
    return absl::StrCat(text, "  ", std::string(ToString(node.evaluation->verdict)), ": ", node.evaluation->reason);
  }
  const std::string times = TimesText(*node.evaluation);
  if (!times.empty()) absl::StrAppend(&text, "  ", times);
  if (const std::optional<double> fraction = RooflineFraction(*node.evaluation); fraction.has_value()) {
    absl::StrAppendFormat(&text, "  (%.0f %% of the roofline)", 100 * *fraction);
  }
  return text;
}

std::string StateCounts(const GraphView& graph) {
  std::map<NodeState, int> counts;
  for (std::size_t index = 0; index < graph.size(); ++index) ++counts[graph.node(NodeId{index}).state];
  std::string text;
  for (const auto& [state, count] : counts) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", std::string(ToString(state)));
  }
  return text;
}

void AppendBest(std::string& text, const GraphView& graph) {
  const std::optional<NodeId> champion = graph.champion();
  if (!champion.has_value()) {
    AppendRow(text, "best", "none: the baseline has no score");
    for (const std::string& line : graph.node(kRootNode).evaluation == nullptr
                                       ? std::vector<std::string>()
                                       : DiagnosticLines(*graph.node(kRootNode).evaluation)) {
      AppendRow(text, "", line);
    }
    return;
  }
  if (*champion == kRootNode) {
    AppendRow(text, "best", "nothing better than the baseline was found");
    return;
  }
  const Node& best = graph.node(*champion);
  AppendRow(text, "best", NodeText(best));
  AppendRow(text, "made by", absl::StrCat(best.operator_name, best.tunables.empty() ? "" : ": ", ParametersText(best.tunables)));
  if (!best.rationale.empty()) AppendRow(text, "why", best.rationale.substr(0, best.rationale.find('\n')));
  absl::StrAppend(&text, "\n", DiffFromRoot(graph, best.id), "\n");
}

}  // namespace

std::string DiffText(const Candidate& before, const Candidate& after) {
  std::map<std::string, std::string> old_files;
  for (const SourceFile& file : before.files()) old_files[file.path] = file.text;
  std::string text;
  for (const SourceFile& file : after.files()) {
    text += UnifiedDiff(old_files[file.path], file.text, "a/" + file.path, "b/" + file.path);
    old_files.erase(file.path);
  }
  for (const auto& [path, content] : old_files) text += UnifiedDiff(content, "", "a/" + path, "b/" + path);
  return text;
}

std::string DiffFromRoot(const GraphView& graph, NodeId node) {
  return DiffText(*graph.node(kRootNode).candidate, *graph.node(node).candidate);
}

std::string SummaryText(const RunSummary& run, const Task& task, const std::filesystem::path& folder) {
  const std::string path = ShownPath(folder);
  std::string text = "\n";
  AppendRow(text, "task", absl::StrCat(task.name, " on ", task.chip, ", scored by ", std::string(ToString(task.score))));
  AppendRow(text, "ended", run.end_reason.value_or("not: the run can be resumed"));
  const bool has_nodes = run.graph != nullptr && run.graph->size() > 0;
  if (has_nodes) {
    AppendRow(text, "baseline", NodeText(run.graph->node(kRootNode)));
    AppendBest(text, *run.graph);
    AppendRow(text, "nodes", StateCounts(*run.graph));
  }
  AppendRow(text, "cost", absl::StrCat(CostText(run.budget.spent), ", ", DurationText(run.budget.wall_time)));
  AppendRow(text, "run", path);
  if (!run.end_reason.has_value()) {
    AppendRow(text, "next", "maxkernel resume " + path);
  } else if (has_nodes && run.graph->champion().has_value() && *run.graph->champion() != kRootNode) {
    AppendRow(text, "next", "maxkernel best " + path + " --out winner");
    AppendRow(text, "", "maxkernel graph " + path);
  } else {
    AppendRow(text, "next", "maxkernel graph " + path);
  }
  return text;
}

std::string ResultLine(std::string_view result_json) {
  return nlohmann::json({{"event", "result"}, {"result", nlohmann::json::parse(result_json)}}).dump();
}

std::string ShownPath(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path relative = std::filesystem::proximate(path, error);
  if (error || relative.empty() || *relative.begin() == "..") return path.string();
  return relative.string();
}

}  // namespace maxkernel
