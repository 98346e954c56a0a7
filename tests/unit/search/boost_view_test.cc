#include "maxkernel/graph/boost_view.h"

#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <catch2/catch.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "lib/search/search_graph.h"

namespace maxkernel {
namespace {

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<BoostGraphView>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<BoostGraphView>));
BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<BoostGraphView>));
BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<BoostGraphView>));

// 0 -> 1, 2; 1, 2 -> 3; 0 -> 4; 5 alone.
SearchGraph Diamond() {
  SearchGraph graph;
  const std::vector<std::vector<std::uint64_t>> parents{{}, {0}, {0}, {1, 2}, {0}, {}};
  for (std::uint64_t id = 0; id < parents.size(); ++id) {
    NodeAdded node;
    node.node = NodeId{id};
    for (std::uint64_t parent : parents[id]) node.parents.push_back(NodeId{parent});
    node.candidate = std::make_shared<const Candidate>(*Candidate::FromText("k.py", absl::StrCat("# ", id)));
    graph.Add(node);
  }
  return graph;
}

TEST_CASE("a breadth-first search from the root finds distances") {
  const SearchGraph graph = Diamond();
  const BoostGraphView view(graph);
  std::vector<int> distances(num_vertices(view), -1);
  distances[0] = 0;
  const auto map = boost::make_iterator_property_map(distances.begin(), get(boost::vertex_index, view));
  boost::breadth_first_search(view, kRootNode, boost::visitor(boost::make_bfs_visitor(boost::record_distances(map, boost::on_tree_edge()))));
  CHECK(distances == std::vector<int>{0, 1, 1, 2, 1, -1});
}

TEST_CASE("a topological sort puts children first") {
  const SearchGraph graph = Diamond();
  const BoostGraphView view(graph);
  std::vector<NodeId> order;
  boost::topological_sort(view, std::back_inserter(order));
  REQUIRE(order.size() == 6);
  const auto place = [&](std::uint64_t id) { return std::find(order.begin(), order.end(), NodeId{id}) - order.begin(); };
  CHECK(place(3) < place(1));
  CHECK(place(3) < place(2));
  CHECK(place(1) < place(0));
}

TEST_CASE("edges are the same from all sides") {
  const SearchGraph graph = Diamond();
  const BoostGraphView view(graph);
  const auto [begin, end] = edges(view);
  const std::vector<BoostEdge> all(begin, end);
  CHECK(all.size() == num_edges(view));
  CHECK(all.size() == 5);
  std::size_t in = 0;
  for (auto [node, last] = vertices(view); node != last; ++node) {
    in += in_degree(*node, view);
    CHECK(degree(*node, view) == in_degree(*node, view) + out_degree(*node, view));
  }
  CHECK(in == 5);
  CHECK(edge(NodeId{2}, NodeId{3}, view).second);
  CHECK_FALSE(edge(NodeId{3}, NodeId{2}, view).second);
  const SearchGraph empty;
  CHECK(num_edges(BoostGraphView(empty)) == 0);
  CHECK(edges(BoostGraphView(empty)).first == edges(BoostGraphView(empty)).second);
}

TEST_CASE("writers write it") {
  const SearchGraph graph = Diamond();
  const BoostGraphView view(graph);
  std::ostringstream dot;
  boost::write_graphviz(dot, view);
  CHECK_THAT(dot.str(), Catch::Matchers::Contains("0->1") && Catch::Matchers::Contains("2->3"));
  std::ostringstream graphml;
  boost::dynamic_properties properties;
  const auto name = boost::make_function_property_map<NodeId>([](NodeId node) { return ToString(node); });
  properties.property("name", name);
  boost::write_graphml(graphml, view, properties);
  CHECK_THAT(graphml.str(), Catch::Matchers::Contains("<node id=\"n5\">") && Catch::Matchers::Contains("source=\"n2\" target=\"n3\""));
}

TEST_CASE("a weighted algorithm runs on it") {
  const SearchGraph graph = Diamond();
  const BoostGraphView view(graph);
  std::vector<double> distances(num_vertices(view));
  const auto weights = boost::make_function_property_map<BoostEdge>([](const BoostEdge& edge) { return edge.parent == NodeId{1} ? 5.0 : 1.0; });
  boost::dijkstra_shortest_paths(
      view, kRootNode,
      boost::weight_map(weights).distance_map(boost::make_iterator_property_map(distances.begin(), get(boost::vertex_index, view))));
  CHECK(distances[3] == 2.0);
}

}  // namespace
}  // namespace maxkernel
