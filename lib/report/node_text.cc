#include "lib/report/node_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace maxkernel::report {

std::string ScoreText(const Node& node) {
  if (!node.score.has_value()) return "";
  return absl::StrFormat("%.3gx", node.score->value);
}

std::string OutcomeText(const Node& node) {
  if (node.score.has_value()) return ScoreText(node);
  if (node.state == NodeState::kFailed && node.evaluation != nullptr) return std::string(ToString(node.evaluation->verdict));
  return std::string(ToString(node.state));
}

std::string TunablesText(const Node& node) {
  std::string text;
  for (const auto& [name, value] : node.tunables) absl::StrAppend(&text, text.empty() ? "" : " ", name, "=", value);
  return text;
}

std::set<NodeId> ChampionLineage(const GraphView& graph) {
  std::set<NodeId> lineage;
  if (!graph.champion().has_value()) return lineage;
  std::vector<NodeId> open{*graph.champion()};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!lineage.insert(id).second) continue;
    for (NodeId parent : graph.node(id).parents) open.push_back(parent);
  }
  return lineage;
}

std::string FirstLine(std::string_view text, std::size_t limit) {
  text = text.substr(0, text.find('\n'));
  if (text.size() <= limit) return std::string(text);
  // A UTF-8 continuation byte starts with the bits 10.
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return absl::StrCat(std::string(text.substr(0, limit)), "...");
}

}  // namespace maxkernel::report
