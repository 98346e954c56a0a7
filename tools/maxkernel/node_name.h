#ifndef MAXKERNEL_TOOLS_MAXKERNEL_NODE_NAME_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_NODE_NAME_H_

#include <string>

#include "absl/status/statusor.h"
#include "maxkernel/search_graph.h"

namespace maxkernel {

// "n12", "12", "best" or "root". InvalidArgument for another text, NotFound for a node that is not in the graph.
absl::StatusOr<NodeId> FindNode(const GraphView& graph, const std::string& name);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_NODE_NAME_H_
