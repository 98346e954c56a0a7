// What the graph formats say about a node, in one place so that they agree.
#ifndef MAXKERNEL_LIB_REPORT_NODE_TEXT_H_
#define MAXKERNEL_LIB_REPORT_NODE_TEXT_H_

#include <set>
#include <string>
#include <string_view>

#include "maxkernel/search_graph.h"

namespace maxkernel::report {

// "1.84x", or "" without a score.
std::string ScoreText(const Node& node);

// The score or, without one, why there is none: "incorrect", "pending".
std::string OutcomeText(const Node& node);

// "BLOCK_M=256 BLOCK_N=512", or "".
std::string TunablesText(const Node& node);

// The champion and all its ancestors.
std::set<NodeId> ChampionLineage(const GraphView& graph);

// The first line of `text`, cut to `limit` bytes at a character's start.
std::string FirstLine(std::string_view text, std::size_t limit);

}  // namespace maxkernel::report

#endif  // MAXKERNEL_LIB_REPORT_NODE_TEXT_H_
