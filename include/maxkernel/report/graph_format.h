#ifndef MAXKERNEL_REPORT_GRAPH_FORMAT_H_
#define MAXKERNEL_REPORT_GRAPH_FORMAT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/search_graph.h"

namespace maxkernel {

// The names that FormatGraph knows: "dot", "graphml", "json", "text". (SVG comes from feeding "dot" to Graphviz.)
std::vector<std::string> GraphFormats();

// The graph as text. Node order is id order, so equal graphs give equal text. InvalidArgument for an unknown format.
//   dot      GraphViz: champion and its lineage emphasised, failures dimmed, edges labelled by operator
//   graphml  with typed attributes
//   json     {"nodes": [...], "edges": [...]}
//   text     an indented tree, one line per node, for terminals
absl::StatusOr<std::string> FormatGraph(const GraphView& graph, std::string_view format);

}  // namespace maxkernel

#endif  // MAXKERNEL_REPORT_GRAPH_FORMAT_H_
