// The search graph as a Boost graph, without a copy: BGL algorithms and writers run on a GraphView directly.
//
//   maxkernel::BoostGraphView view(search->graph());
//   std::vector<maxkernel::NodeId> order;
//   boost::topological_sort(view, std::back_inserter(order));   // children first
//
// Models VertexListGraph, EdgeListGraph, BidirectionalGraph and AdjacencyGraph; edges lead from parents to children. Vertices are NodeIds and
// get(boost::vertex_index, view) numbers them 0 .. size()-1. A view is as valid and as thread-safe as the GraphView, and nodes that are added
// later appear in it.
// The only header of this library that includes Boost: link maxkernel::boost_view.
// Example: examples/05_boost_view.cc.
#ifndef MAXKERNEL_GRAPH_BOOST_VIEW_H_
#define MAXKERNEL_GRAPH_BOOST_VIEW_H_

#include <algorithm>
#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/iterator_facade.hpp>
#include <boost/property_map/property_map.hpp>
#include <cstddef>
#include <utility>

#include "maxkernel/search_graph.h"

namespace maxkernel {

struct BoostEdge {
  NodeId parent{};
  NodeId child{};

  bool operator==(const BoostEdge&) const = default;
  auto operator<=>(const BoostEdge&) const = default;
};

class BoostGraphView {
 public:
  // `graph` outlives the view.
  explicit BoostGraphView(const GraphView& graph) : graph_(&graph) {}

  const GraphView& graph() const { return *graph_; }

 private:
  const GraphView* graph_;
};

// Counts through 0 .. size()-1.
class BoostVertexIterator
    : public boost::iterator_facade<BoostVertexIterator, const NodeId, boost::random_access_traversal_tag, NodeId> {
 public:
  BoostVertexIterator() = default;
  explicit BoostVertexIterator(std::uint64_t number) : number_(number) {}

 private:
  friend class boost::iterator_core_access;
  NodeId dereference() const { return NodeId{number_}; }
  bool equal(const BoostVertexIterator& other) const { return number_ == other.number_; }
  void increment() { ++number_; }
  void decrement() { --number_; }
  void advance(std::ptrdiff_t n) { number_ += static_cast<std::uint64_t>(n); }
  std::ptrdiff_t distance_to(const BoostVertexIterator& other) const {
    return static_cast<std::ptrdiff_t>(other.number_ - number_);
  }

  std::uint64_t number_ = 0;
};

// Edges at one node: to its children, or from its parents.
enum class BoostEdgeSide : std::uint8_t { kOut, kIn };
template <BoostEdgeSide side>
class BoostIncidentEdgeIterator : public boost::iterator_facade<BoostIncidentEdgeIterator<side>, const BoostEdge,
                                                                boost::random_access_traversal_tag, BoostEdge> {
 public:
  BoostIncidentEdgeIterator() = default;
  BoostIncidentEdgeIterator(NodeId node, const NodeId* other) : node_(node), other_(other) {}

 private:
  friend class boost::iterator_core_access;
  BoostEdge dereference() const {
    return side == BoostEdgeSide::kOut ? BoostEdge{node_, *other_} : BoostEdge{*other_, node_};
  }
  bool equal(const BoostIncidentEdgeIterator& that) const { return other_ == that.other_; }
  void increment() { ++other_; }
  void decrement() { --other_; }
  void advance(std::ptrdiff_t n) { other_ += n; }
  std::ptrdiff_t distance_to(const BoostIncidentEdgeIterator& that) const { return that.other_ - other_; }

  NodeId node_{};
  const NodeId* other_ = nullptr;
};

// All edges, by parent.
class BoostEdgeIterator : public boost::iterator_facade<BoostEdgeIterator, const BoostEdge, boost::forward_traversal_tag, BoostEdge> {
 public:
  BoostEdgeIterator() = default;
  BoostEdgeIterator(const GraphView& graph, std::uint64_t parent) : graph_(&graph), parent_(parent) { SkipLeaves(); }

 private:
  friend class boost::iterator_core_access;
  BoostEdge dereference() const { return {NodeId{parent_}, graph_->node(NodeId{parent_}).children[child_]}; }
  bool equal(const BoostEdgeIterator& other) const { return parent_ == other.parent_ && child_ == other.child_; }
  void increment() {
    ++child_;
    SkipLeaves();
  }
  void SkipLeaves() {
    while (parent_ < graph_->size() && child_ == graph_->node(NodeId{parent_}).children.size()) {
      ++parent_;
      child_ = 0;
    }
  }

  const GraphView* graph_ = nullptr;
  std::uint64_t parent_ = 0;
  std::size_t child_ = 0;
};

class BoostAdjacencyIterator
    : public boost::iterator_facade<BoostAdjacencyIterator, const NodeId, boost::random_access_traversal_tag, NodeId> {
 public:
  BoostAdjacencyIterator() = default;
  explicit BoostAdjacencyIterator(const NodeId* node) : node_(node) {}

 private:
  friend class boost::iterator_core_access;
  NodeId dereference() const { return *node_; }
  bool equal(const BoostAdjacencyIterator& other) const { return node_ == other.node_; }
  void increment() { ++node_; }
  void decrement() { --node_; }
  void advance(std::ptrdiff_t n) { node_ += n; }
  std::ptrdiff_t distance_to(const BoostAdjacencyIterator& other) const { return other.node_ - node_; }

  const NodeId* node_ = nullptr;
};

struct BoostTraversalCategory : public virtual boost::vertex_list_graph_tag,
                                public virtual boost::edge_list_graph_tag,
                                public virtual boost::bidirectional_graph_tag,
                                public virtual boost::adjacency_graph_tag {};

// A property map that numbers the vertices; their ids are the numbers.
struct BoostVertexIndexMap {
  using key_type = NodeId;
  using value_type = std::size_t;
  using reference = std::size_t;
  using category = boost::readable_property_map_tag;
  std::size_t operator[](NodeId node) const { return ToNumber(node); }
};
inline std::size_t get(const BoostVertexIndexMap& map, NodeId node) { return map[node]; }
inline BoostVertexIndexMap get(boost::vertex_index_t, const BoostGraphView&) { return {}; }
inline std::size_t get(boost::vertex_index_t, const BoostGraphView&, NodeId node) { return ToNumber(node); }

}  // namespace maxkernel

template <>
struct boost::graph_traits<maxkernel::BoostGraphView> {
  using vertex_descriptor = maxkernel::NodeId;
  using edge_descriptor = maxkernel::BoostEdge;
  using directed_category = boost::bidirectional_tag;
  using edge_parallel_category = boost::disallow_parallel_edge_tag;
  using traversal_category = maxkernel::BoostTraversalCategory;
  using vertex_iterator = maxkernel::BoostVertexIterator;
  using edge_iterator = maxkernel::BoostEdgeIterator;
  using out_edge_iterator = maxkernel::BoostIncidentEdgeIterator<maxkernel::BoostEdgeSide::kOut>;
  using in_edge_iterator = maxkernel::BoostIncidentEdgeIterator<maxkernel::BoostEdgeSide::kIn>;
  using adjacency_iterator = maxkernel::BoostAdjacencyIterator;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  static vertex_descriptor null_vertex() { return maxkernel::NodeId{~std::uint64_t{0}}; }
};

template <>
struct boost::property_map<maxkernel::BoostGraphView, boost::vertex_index_t> {
  using type = maxkernel::BoostVertexIndexMap;
  using const_type = maxkernel::BoostVertexIndexMap;
};

namespace maxkernel {

using BoostTraits = boost::graph_traits<BoostGraphView>;

inline std::pair<BoostTraits::vertex_iterator, BoostTraits::vertex_iterator> vertices(const BoostGraphView& view) {
  return {BoostVertexIterator(0), BoostVertexIterator(view.graph().size())};
}
inline std::size_t num_vertices(const BoostGraphView& view) { return view.graph().size(); }
inline NodeId vertex(std::size_t number, const BoostGraphView&) { return NodeId{number}; }

inline std::pair<BoostTraits::edge_iterator, BoostTraits::edge_iterator> edges(const BoostGraphView& view) {
  return {BoostEdgeIterator(view.graph(), 0), BoostEdgeIterator(view.graph(), view.graph().size())};
}
// O(nodes).
inline std::size_t num_edges(const BoostGraphView& view) {
  std::size_t count = 0;
  for (std::uint64_t id = 0; id < view.graph().size(); ++id) count += view.graph().node(NodeId{id}).children.size();
  return count;
}
inline NodeId source(const BoostEdge& edge, const BoostGraphView&) { return edge.parent; }
inline NodeId target(const BoostEdge& edge, const BoostGraphView&) { return edge.child; }

inline std::pair<BoostTraits::out_edge_iterator, BoostTraits::out_edge_iterator> out_edges(NodeId node, const BoostGraphView& view) {
  const auto& children = view.graph().node(node).children;
  return {{node, children.data()}, {node, children.data() + children.size()}};
}
inline std::size_t out_degree(NodeId node, const BoostGraphView& view) { return view.graph().node(node).children.size(); }
inline std::pair<BoostTraits::in_edge_iterator, BoostTraits::in_edge_iterator> in_edges(NodeId node, const BoostGraphView& view) {
  const auto& parents = view.graph().node(node).parents;
  return {{node, parents.data()}, {node, parents.data() + parents.size()}};
}
inline std::size_t in_degree(NodeId node, const BoostGraphView& view) { return view.graph().node(node).parents.size(); }
inline std::size_t degree(NodeId node, const BoostGraphView& view) { return in_degree(node, view) + out_degree(node, view); }
inline std::pair<BoostTraits::adjacency_iterator, BoostTraits::adjacency_iterator> adjacent_vertices(NodeId node,
                                                                                                    const BoostGraphView& view) {
  const auto& children = view.graph().node(node).children;
  return {BoostAdjacencyIterator(children.data()), BoostAdjacencyIterator(children.data() + children.size())};
}
// O(children).
inline std::pair<BoostEdge, bool> edge(NodeId parent, NodeId child, const BoostGraphView& view) {
  const auto& children = view.graph().node(parent).children;
  return {{parent, child}, std::binary_search(children.begin(), children.end(), child)};
}

}  // namespace maxkernel

#endif  // MAXKERNEL_GRAPH_BOOST_VIEW_H_
