#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/report/graph_writers.h"
#include "lib/report/node_text.h"

namespace maxkernel::report {
namespace {

// Escapes what XML 1.0 gives a meaning and replaces the control characters that it forbids.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped.push_back(static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c);
    }
  }
  return escaped;
}

void AppendData(std::string& text, std::string_view key, std::string_view value) {
  absl::StrAppend(&text, "      <data key=\"", std::string(key), "\">", Escaped(value), "</data>\n");
}

void AppendNode(std::string& text, const GraphView& graph, const Node& node) {
  absl::StrAppend(&text, "    <node id=\"", ToString(node.id), "\">\n");
  AppendData(text, "state", ToString(node.state));
  AppendData(text, "operator", node.operator_name);
  if (node.score.has_value()) AppendData(text, "score", absl::StrFormat("%.17g", node.score->value));
  if (node.evaluation != nullptr) AppendData(text, "verdict", ToString(node.evaluation->verdict));
  if (!node.tunables.empty()) AppendData(text, "tunables", TunablesText(node));
  if (!node.rationale.empty()) AppendData(text, "rationale", node.rationale);
  AppendData(text, "content_hash", node.candidate->content_hash());
  AppendData(text, "champion", graph.champion() == node.id ? "true" : "false");
  text += "    </node>\n";
}

}  // namespace

std::string GraphMl(const GraphView& graph) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  for (const auto& [name, type] : {std::pair{"state", "string"}, {"operator", "string"}, {"score", "double"}, {"verdict", "string"},
                                   {"tunables", "string"}, {"rationale", "string"}, {"content_hash", "string"},
                                   {"champion", "boolean"}}) {
    absl::StrAppend(&text, "  <key id=\"", name, "\" for=\"node\" attr.name=\"", name, "\" attr.type=\"", type, "\"/>\n");
  }
  text += "  <graph id=\"search\" edgedefault=\"directed\">\n";
  for (std::size_t i = 0; i < graph.size(); ++i) AppendNode(text, graph, graph.node(NodeId{i}));
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (NodeId parent : graph.node(NodeId{i}).parents) {
      absl::StrAppend(&text, "    <edge source=\"", ToString(parent), "\" target=\"", ToString(NodeId{i}), "\"/>\n");
    }
  }
  text += "  </graph>\n</graphml>\n";
  return text;
}

}  // namespace maxkernel::report
