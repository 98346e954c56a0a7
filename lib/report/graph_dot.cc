#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/report/graph_writers.h"
#include "lib/report/node_text.h"

namespace maxkernel::report {
namespace {

// A quoted DOT string: only the quote and the backslash are special, and a line break is written \n.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted.push_back(c);
    }
  }
  quoted.push_back('"');
  return quoted;
}

// Fill from pale to strong green over doublings of the score; failures are grey, the baseline's speed is white.
std::string Style(const Node& node, bool in_lineage, bool is_champion) {
  if (!node.score.has_value()) {
    return "style=\"filled,dashed\", fillcolor=\"#f2f2f2\", color=\"#b0b0b0\", fontcolor=\"#808080\"";
  }
  const double doublings = std::min(3.0, std::max(0.0, std::log2(node.score->value)));
  const int red_and_blue = 255 - static_cast<int>(45 * doublings);
  return absl::StrFormat("style=filled, fillcolor=\"#%02x%02x%02x\", color=\"%s\", penwidth=%d", red_and_blue,
                         255 - static_cast<int>(10 * doublings), red_and_blue, in_lineage ? "#1a7f37" : "#606060",
                         is_champion ? 4 : (in_lineage ? 2 : 1));
}

std::string Label(const Node& node) {
  std::string label = absl::StrCat(ToString(node.id), "  ", OutcomeText(node));
  if (node.parents.empty()) {
    absl::StrAppend(&label, "\n", node.operator_name);
  } else if (!node.tunables.empty()) {
    absl::StrAppend(&label, "\n", FirstLine(TunablesText(node), 60));
  } else if (!node.rationale.empty()) {
    absl::StrAppend(&label, "\n", FirstLine(node.rationale, 40));
  }
  return label;
}

}  // namespace

std::string GraphDot(const GraphView& graph) {
  const std::set<NodeId> lineage = ChampionLineage(graph);
  std::string text =
      "digraph search {\n"
      "  rankdir=TB;\n"
      "  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n"
      "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#909090\", fontcolor=\"#707070\"];\n";
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(NodeId{i});
    const bool in_lineage = lineage.contains(node.id);
    absl::StrAppend(&text, "  ", ToString(node.id), " [label=", Quoted(Label(node)), ", ",
                    Style(node, in_lineage, graph.champion() == node.id), "];\n");
    for (NodeId parent : node.parents) {
      absl::StrAppend(&text, "  ", ToString(parent), " -> ", ToString(node.id), " [label=", Quoted(node.operator_name),
                      in_lineage && lineage.contains(parent) ? ", color=\"#1a7f37\", penwidth=2" : "", "];\n");
    }
  }
  text += "}\n";
  return text;
}

}  // namespace maxkernel::report
