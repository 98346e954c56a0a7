#include "maxkernel/report/result_file.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "maxkernel/score.h"
#include "maxkernel/store/event_json.h"
#include "maxkernel/version.h"

namespace maxkernel {
namespace {

using Json = nlohmann::ordered_json;

// Of the layout of this file; grows with fields, changes with meaning.
constexpr int kSchemaVersion = 1;

Json TimeJson(absl::Time time) {
  if (time == absl::InfinitePast() || time == absl::InfiniteFuture()) return nullptr;
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

Json StatusJson(const absl::Status& status) {
  if (status.ok()) return {{"ok", true}, {"code", "OK"}, {"message", ""}};
  return {{"ok", false}, {"code", absl::StatusCodeToString(status.code())}, {"message", std::string(status.message())}};
}

Json ScoreJson(const Score& score) {
  return {{"value", score.value}, {"low", score.low}, {"high", score.high}, {"fidelity", ToString(score.fidelity)}};
}

Json CostJson(const Cost& cost) {
  return {{"input_tokens", cost.input_tokens},
          {"cached_input_tokens", cost.cached_input_tokens},
          {"output_tokens", cost.output_tokens},
          {"microdollars", cost.microdollars},
          {"evaluations", cost.evaluations},
          {"nodes", cost.nodes},
          {"device_seconds", absl::ToDoubleSeconds(cost.device_time)}};
}

template <typename Value>
Json Optional(const std::optional<Value>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json BudgetJson(const Budget& budget) {
  const auto seconds = [](const std::optional<absl::Duration>& duration) {
    return duration.has_value() ? Json(absl::ToDoubleSeconds(*duration)) : Json(nullptr);
  };
  return {{"tokens", Optional(budget.tokens)},           {"microdollars", Optional(budget.microdollars)},
          {"evaluations", Optional(budget.evaluations)}, {"nodes", Optional(budget.nodes)},
          {"device_seconds", seconds(budget.device_time)}, {"wall_seconds", seconds(budget.wall_time)}};
}

Json FilesJson(const Candidate& candidate) {
  Json files = Json::array();
  for (const SourceFile& file : candidate.files()) {
    files.push_back({{"path", file.path}, {"sha256", Sha256Hex(file.text)}, {"text", file.text}});
  }
  return files;
}

Json LineageJson(const GraphView& graph, NodeId id) {
  Json lineage = Json::array();
  // By first parents; an explicit bound is not needed, since a parent's id is always below its child's.
  while (true) {
    const Node& node = graph.node(id);
    lineage.push_back({{"node", ToString(id)},
                       {"operator", node.operator_name},
                       {"rationale", node.rationale},
                       {"score", node.score.has_value() ? Json(node.score->value) : Json(nullptr)}});
    if (node.parents.empty()) break;
    id = node.parents.front();
  }
  std::reverse(lineage.begin(), lineage.end());
  return lineage;
}

Json NodeJson(const GraphView& graph, NodeId id) {
  const Node& node = graph.node(id);
  Json json;
  json["node"] = ToString(id);
  json["state"] = ToString(node.state);
  json["score"] = node.score.has_value() ? ScoreJson(*node.score) : Json(nullptr);
  json["roofline_fraction"] = node.evaluation != nullptr ? Optional(RooflineFraction(*node.evaluation)) : Json(nullptr);
  json["content_hash"] = node.candidate->content_hash();
  json["files"] = FilesJson(*node.candidate);
  json["tunables"] = node.tunables;
  json["rationale"] = node.rationale;
  json["cost"] = CostJson(node.cost);
  json["lineage"] = LineageJson(graph, id);
  json["evidence"] = node.evaluation != nullptr ? Json::parse(EvaluationToJson(*node.evaluation)) : Json(nullptr);
  return json;
}

// Either is null where there is none.
Json BaselineJson(const RunSummary& run) {
  if (run.graph == nullptr || run.graph->size() == 0) return nullptr;
  return NodeJson(*run.graph, kRootNode);
}
Json BestJson(const RunSummary& run) {
  if (run.graph == nullptr || !run.graph->champion().has_value()) return nullptr;
  return NodeJson(*run.graph, *run.graph->champion());
}

// The stage at which the baseline failed, if it did: nothing else makes a whole run fail.
Json FailingStageJson(const GraphView& graph) {
  if (graph.size() == 0 || graph.node(kRootNode).evaluation == nullptr) return nullptr;
  for (const StageReport& stage : graph.node(kRootNode).evaluation->stages) {
    if (stage.status == StageStatus::kFailed) return ToString(stage.stage);
  }
  return nullptr;
}

Json CountsJson(const RunSummary& run) {
  std::map<std::string, std::size_t> failed_by_verdict;
  std::size_t valid = 0;
  std::size_t pending = 0;
  std::size_t improvements = 0;
  for (std::size_t i = 0; i < run.graph->size(); ++i) {
    const Node& node = run.graph->node(NodeId{i});
    if (node.state == NodeState::kValid) ++valid;
    if (node.state == NodeState::kPending || node.state == NodeState::kEvaluating) ++pending;
    if (node.state == NodeState::kFailed && node.evaluation != nullptr) {
      ++failed_by_verdict[std::string(ToString(node.evaluation->verdict))];
    }
    if (node.id != kRootNode && node.score.has_value() && node.score->low > 1) ++improvements;
  }
  return {{"events", run.events},
          {"nodes", run.graph->size()},
          {"valid", valid},
          {"pending", pending},
          {"better_than_baseline", improvements},
          {"failed", failed_by_verdict},
          {"duplicates", run.duplicates},
          {"proposals_failed", run.proposals_failed},
          {"infrastructure_failures", run.infrastructure_failures}};
}

// What each step up of the champion cost on average: a search that costs more than it saves should show it.
Json CostPerImprovement(const RunSummary& run, std::size_t improvements) {
  if (improvements == 0) return nullptr;
  const auto count = static_cast<double>(improvements);
  const Cost& spent = run.budget.spent;
  return {{"microdollars", static_cast<double>(spent.microdollars) / count},
          {"tokens", static_cast<double>(spent.input_tokens + spent.output_tokens) / count},
          {"evaluations", static_cast<double>(spent.evaluations) / count},
          {"device_seconds", absl::ToDoubleSeconds(spent.device_time) / count},
          {"wall_seconds", absl::ToDoubleSeconds(run.budget.wall_time) / count}};
}

bool IsImproved(const GraphView& graph) {
  if (!graph.champion().has_value() || *graph.champion() == kRootNode) return false;
  const std::optional<Score>& score = graph.node(*graph.champion()).score;
  return score.has_value() && score->low > 1;
}

Json SpecificationJson(const std::string& specification) {
  const Json parsed = Json::parse(specification, nullptr, /*allow_exceptions=*/false);
  return parsed.is_discarded() ? Json(specification) : parsed;
}

}  // namespace

std::string ResultJson(const RunSummary& run, const Task* task, const absl::Status& status) {
  Json json;
  json["schema"] = kSchemaVersion;
  json["maxkernel"] = kVersion;
  json["status"] = StatusJson(status);
  json["end_reason"] = Optional(run.end_reason);
  json["task"] = task == nullptr ? Json(nullptr)
                                 : Json{{"name", task->name}, {"digest", task->digest}, {"chip", task->chip}};
  const bool has_root = run.graph != nullptr && run.graph->size() > 0;
  json["improved"] = has_root && IsImproved(*run.graph);
  json["best"] = BestJson(run);
  json["fidelity"] = json["best"].is_null() ? Json(nullptr) : json["best"]["score"]["fidelity"];
  json["baseline"] = BaselineJson(run);
  json["failing_stage"] = has_root ? FailingStageJson(*run.graph) : Json(nullptr);
  json["environment"] = has_root && run.graph->node(kRootNode).evaluation != nullptr
                            ? Json(run.graph->node(kRootNode).evaluation->environment)
                            : Json::object();
  json["counts"] = run.graph != nullptr ? CountsJson(run) : Json(nullptr);
  json["cost"] = CostJson(run.budget.spent);
  json["cost"]["wall_seconds"] = absl::ToDoubleSeconds(run.budget.wall_time);
  json["cost_per_improvement"] =
      run.graph != nullptr ? CostPerImprovement(run, json["counts"]["better_than_baseline"].get<std::size_t>()) : Json(nullptr);
  json["budget"] = BudgetJson(run.budget.limits);
  json["run"] = {{"started", TimeJson(run.start_time)},
                 {"ended", TimeJson(run.last_time)},
                 {"seed", run.started ? Json(run.seed) : Json(nullptr)},
                 {"specification", SpecificationJson(run.specification)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace maxkernel
