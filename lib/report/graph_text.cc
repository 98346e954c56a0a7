#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/report/graph_writers.h"
#include "lib/report/node_text.h"

namespace maxkernel::report {
namespace {

std::string Line(const GraphView& graph, const Node& node) {
  std::string line = absl::StrCat(ToString(node.id), "  ", OutcomeText(node), "  ", node.operator_name);
  if (!node.tunables.empty()) absl::StrAppend(&line, "  ", TunablesText(node));
  if (node.tunables.empty() && !node.rationale.empty()) absl::StrAppend(&line, "  ", FirstLine(node.rationale, 60));
  if (graph.champion() == node.id) line += "  <- champion";
  if (node.parents.size() > 1) {
    line += "  (also from";
    for (std::size_t i = 1; i < node.parents.size(); ++i) absl::StrAppend(&line, " ", ToString(node.parents[i]));
    line += ")";
  }
  return line;
}

}  // namespace

// A node hangs below its first parent; further parents are named in its line. No recursion: chains may be long.
std::string GraphText(const GraphView& graph) {
  struct Pending {
    NodeId node;
    std::string indent;  // of the node's own line
    bool last;           // among its siblings
    bool is_root;
  };
  std::vector<Pending> open;
  for (std::size_t i = graph.size(); i > 0; --i) {
    if (graph.node(NodeId{i - 1}).parents.empty()) open.push_back({NodeId{i - 1}, "", true, true});
  }
  std::string text;
  while (!open.empty()) {
    const Pending pending = open.back();
    open.pop_back();
    const Node& node = graph.node(pending.node);
    absl::StrAppend(&text, pending.indent, pending.is_root ? "" : (pending.last ? "`- " : "|- "), Line(graph, node), "\n");
    std::vector<NodeId> below;
    for (NodeId child : node.children) {
      if (graph.node(child).parents.front() == node.id) below.push_back(child);
    }
    const std::string indent = pending.is_root ? "" : absl::StrCat(pending.indent, pending.last ? "   " : "|  ");
    for (std::size_t i = below.size(); i > 0; --i) open.push_back({below[i - 1], indent, i == below.size(), false});
  }
  return text;
}

}  // namespace maxkernel::report
