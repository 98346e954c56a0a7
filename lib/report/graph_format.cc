#include "maxkernel/report/graph_format.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/report/graph_writers.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel {

std::vector<std::string> GraphFormats() { return {"dot", "graphml", "json", "text"}; }

absl::StatusOr<std::string> FormatGraph(const GraphView& graph, std::string_view format) {
  if (format == "dot") return report::GraphDot(graph);
  if (format == "graphml") return report::GraphMl(graph);
  if (format == "json") return report::GraphJson(graph);
  if (format == "text") return report::GraphText(graph);
  return absl::InvalidArgumentError(absl::StrCat("graph format '", std::string(format), "': unknown; valid are ",
                                                 absl::StrJoin(GraphFormats(), ", "),
                                                 internal::DidYouMean(format, GraphFormats())));
}

}  // namespace maxkernel
