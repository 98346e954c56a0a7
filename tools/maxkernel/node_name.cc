#include "tools/maxkernel/node_name.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace maxkernel {

absl::StatusOr<NodeId> FindNode(const GraphView& graph, const std::string& name) {
  if (name == "best") {
    if (!graph.champion().has_value()) return absl::NotFoundError("node best: the run has no scored node yet");
    return *graph.champion();
  }
  std::uint64_t number = 0;
  if (name != "root" && !absl::SimpleAtoi(name.substr(!name.empty() && name.front() == 'n' ? 1 : 0), &number)) {
    return absl::InvalidArgumentError(absl::StrCat("node '", name, "' is no node; expected n12, 12, best or root"));
  }
  if (number >= graph.size()) {
    return absl::NotFoundError(absl::StrCat("node ", name, ": the run has ", graph.size(), " nodes",
                                            graph.size() == 0 ? "" : absl::StrCat(", n0 to n", graph.size() - 1)));
  }
  return NodeId{number};
}

}  // namespace maxkernel
