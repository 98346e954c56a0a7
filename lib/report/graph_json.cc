#include <nlohmann/json.hpp>

#include "lib/report/graph_writers.h"

namespace maxkernel::report {
namespace {

using Json = nlohmann::ordered_json;

Json NodeJson(const GraphView& graph, const Node& node) {
  Json json;
  json["id"] = ToString(node.id);
  json["state"] = ToString(node.state);
  json["parents"] = Json::array();
  for (NodeId parent : node.parents) json["parents"].push_back(ToString(parent));
  json["operator"] = node.operator_name;
  if (!node.model.empty()) json["model"] = node.model;
  if (!node.branches.empty() && node.branches != std::vector<std::string>{""}) json["branches"] = node.branches;
  json["depth"] = node.depth;
  if (node.score.has_value()) {
    json["score"] = {{"value", node.score->value},
                     {"low", node.score->low},
                     {"high", node.score->high},
                     {"fidelity", ToString(node.score->fidelity)}};
  }
  if (node.evaluation != nullptr) json["verdict"] = ToString(node.evaluation->verdict);
  if (!node.tunables.empty()) json["tunables"] = node.tunables;
  if (!node.rationale.empty()) json["rationale"] = node.rationale;
  json["content_hash"] = node.candidate->content_hash();
  json["champion"] = graph.champion() == node.id;
  return json;
}

}  // namespace

std::string GraphJson(const GraphView& graph) {
  Json json;
  json["nodes"] = Json::array();
  json["edges"] = Json::array();
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(NodeId{i});
    json["nodes"].push_back(NodeJson(graph, node));
    for (NodeId parent : node.parents) {
      json["edges"].push_back({{"source", ToString(parent)}, {"target", ToString(node.id)}, {"operator", node.operator_name}});
    }
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace maxkernel::report
