#ifndef MAXKERNEL_LIB_SEARCH_RANKED_NODES_H_
#define MAXKERNEL_LIB_SEARCH_RANKED_NODES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "maxkernel/ids.h"

namespace maxkernel {

// Nodes in one contiguous range, best first: by score, ties by lower id. Room is kept at both ends and an insertion moves the shorter
// side, so that the usual case, a node near the best, is cheap however many nodes there are.
// Thread-compatible.
class RankedNodes {
 public:
  // Of a node that is not in the list.
  void Insert(NodeId node, double score);
  // Of a node that is in it with exactly this score.
  void Erase(NodeId node, double score);

  std::span<const NodeId> nodes() const { return {ids_.data() + begin_, size_}; }

 private:
  std::size_t LowerBound(NodeId node, double score) const;
  void MakeRoom();

  // Parallel arrays: users get the ids as a span.
  std::vector<NodeId> ids_;
  std::vector<double> scores_;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_SEARCH_RANKED_NODES_H_
