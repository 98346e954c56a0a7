#ifndef MAXKERNEL_LIB_REPORT_GRAPH_WRITERS_H_
#define MAXKERNEL_LIB_REPORT_GRAPH_WRITERS_H_

#include <string>

#include "maxkernel/search_graph.h"

namespace maxkernel::report {

std::string GraphDot(const GraphView& graph);
std::string GraphMl(const GraphView& graph);
std::string GraphJson(const GraphView& graph);
std::string GraphText(const GraphView& graph);

}  // namespace maxkernel::report

#endif  // MAXKERNEL_LIB_REPORT_GRAPH_WRITERS_H_
