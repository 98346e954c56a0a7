// Boost Graph Library algorithms on a search graph: who the champion descends from, and a drawing for Graphviz.
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <iostream>
#include <sstream>

#include "maxkernel/graph/boost_view.h"
#include "maxkernel/policies/beam.h"
#include "maxkernel/search.h"
#include "maxkernel/testing/simulation.h"

int main() {
  const auto landscape = maxkernel::Landscape::Create({.seed = 5, .bits = 12, .partners = 3, .invalid_percent = 20});
  if (!landscape.ok()) return 1;
  maxkernel::FakeClock clock;
  maxkernel::SimulationOptions simulation;
  simulation.clock = &clock;
  const auto evaluator = MakeSimulatedEvaluator(*landscape, simulation);
  const auto journal = maxkernel::MakeMemoryJournal();
  maxkernel::SearchParts parts;
  parts.baseline = std::make_shared<const maxkernel::Candidate>(landscape->CandidateOf(0));
  parts.selection = *maxkernel::MakeBeam(maxkernel::BeamOptions{.width = 3, .branches = 3, .depth = 4});
  parts.expansion = MakeSimulatedExpansion(*landscape, simulation);
  parts.evaluator = evaluator.get();
  parts.journal = journal.get();
  parts.clock = &clock;
  auto search = maxkernel::Search::Create({.seed = 4}, std::move(parts));
  if (!search.ok()) return 1;
  const maxkernel::SearchResult result = (*search)->Run();
  if (!result.best.has_value()) return 1;

  // Nothing is copied: the view reads the search's own graph.
  const maxkernel::BoostGraphView view((*search)->graph());
  const auto upwards = boost::make_reverse_graph(view);
  std::vector<int> generations(num_vertices(view), -1);
  generations[ToNumber(*result.best)] = 0;
  const auto generation = boost::make_iterator_property_map(generations.begin(), get(boost::vertex_index, view));
  boost::breadth_first_search(
      upwards, *result.best,
      boost::vertex_index_map(get(boost::vertex_index, view))
          .visitor(boost::make_bfs_visitor(boost::record_distances(generation, boost::on_tree_edge()))));
  for (auto [node, end] = vertices(view); node != end; ++node) {
    if (generations[ToNumber(*node)] >= 0) {
      std::cout << ToString(*node) << ": " << generations[ToNumber(*node)] << " generations above the champion, "
                << (*search)->graph().node(*node).score->value << "\n";
    }
  }

  std::ostringstream drawing;
  boost::write_graphviz(drawing, view, [&](std::ostream& out, maxkernel::NodeId id) {
    const maxkernel::Node& node = view.graph().node(id);
    out << "[label=\"" << ToString(id) << "\", color=" << (node.state == maxkernel::NodeState::kValid ? "green" : "red") << "]";
  });
  std::cout << drawing.str();
  return generations[0] > 0 && drawing.str().find("0->") != std::string::npos ? 0 : 1;
}
