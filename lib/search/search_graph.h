#ifndef MAXKERNEL_LIB_SEARCH_SEARCH_GRAPH_H_
#define MAXKERNEL_LIB_SEARCH_SEARCH_GRAPH_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/search/ranked_nodes.h"
#include "maxkernel/event.h"
#include "maxkernel/internal/strings.h"
#include "maxkernel/search_graph.h"

namespace maxkernel {

// The graph that the engine changes; policies see it as a GraphView. Knows nodes and their relations, not why they change: RunState
// does. Coordinator thread only.
class SearchGraph final : public GraphView {
 public:
  // The node's id is size(); its parents are in the graph. A node below a vetoed subtree is vetoed from the start.
  void Add(const NodeAdded& added);
  // Of a node without a verdict: kPending, kEvaluating or kBroken. No effect on any other.
  void SetProgress(NodeId node, NodeState state);
  // A finished evaluation. `counts` says whether it is at the fidelity that scores nodes; if not, it can fail a node but not score it.
  enum class Relevance : std::uint8_t { kScoring, kOther };
  void RecordEvaluation(NodeId node, std::shared_ptr<const Evaluation> evaluation, const std::optional<Score>& score,
                        Relevance relevance);
  void AddCost(NodeId node, const Cost& cost);
  void SubtractCost(NodeId node, const Cost& cost);
  void RecordOrder(NodeId first_parent, bool fruitful);
  void MarkExhausted(NodeId node, const std::string& operator_name);
  void Relabel(NodeId node, const std::string& branch, RelabelOrder::Mode mode);
  void Veto(NodeId node, bool subtree);
  void SetChampion(std::optional<NodeId> node) { champion_ = node; }

  std::size_t size() const override { return nodes_.size(); }
  const Node& node(NodeId id) const override;
  std::optional<NodeId> Find(std::string_view content_hash) const override;
  std::optional<NodeId> champion() const override { return champion_; }
  std::span<const NodeId> ranked() const override { return ranked_.nodes(); }

 private:
  Node& At(NodeId id);
  void SetState(Node& node, NodeState state, const std::optional<Score>& score);

  // A deque: nodes never move, and growth never doubles the memory.
  std::deque<Node> nodes_;
  std::vector<bool> vetoed_subtree_;
  // Keys point into the nodes' candidates.
  absl::flat_hash_map<std::string_view, NodeId> by_content_;
  RankedNodes ranked_;
  std::optional<NodeId> champion_;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_SEARCH_SEARCH_GRAPH_H_
