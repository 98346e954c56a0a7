#include "lib/search/search_graph.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "absl/strings/str_cat.h"
#include "maxkernel/random.h"
#include "maxkernel/testing/fake_evaluator.h"

namespace maxkernel {
namespace {

NodeAdded MakeNode(std::uint64_t id, std::vector<NodeId> parents) {
  NodeAdded node;
  node.node = NodeId{id};
  node.parents = std::move(parents);
  node.candidate = std::make_shared<const Candidate>(*Candidate::FromText("k.py", absl::StrCat("# ", id)));
  return node;
}

Score ScoreOf(double value) { return {value, value, value, Fidelity::kEstimate}; }

// The same in the plainest way.
struct NaiveGraph {
  struct NaiveNode {
    std::vector<std::uint64_t> parents;
    std::optional<double> score;
    bool vetoed = false;
    bool subtree_vetoed = false;
  };
  std::vector<NaiveNode> nodes;

  std::uint32_t Depth(std::uint64_t id) const {
    std::uint32_t depth = 0;
    for (std::uint64_t parent : nodes[id].parents) depth = std::max(depth, Depth(parent) + 1);
    return depth;
  }
  bool UnderVeto(std::uint64_t id) const {
    if (nodes[id].subtree_vetoed) return true;
    return std::any_of(nodes[id].parents.begin(), nodes[id].parents.end(), [&](std::uint64_t parent) { return UnderVeto(parent); });
  }
  std::vector<NodeId> Ranked() const {
    std::vector<NodeId> ranked;
    for (std::uint64_t id = 0; id < nodes.size(); ++id) {
      if (nodes[id].score.has_value() && !nodes[id].vetoed && !UnderVeto(id)) ranked.push_back(NodeId{id});
    }
    std::stable_sort(ranked.begin(), ranked.end(), [&](NodeId a, NodeId b) {
      return *nodes[ToNumber(a)].score > *nodes[ToNumber(b)].score;
    });
    return ranked;
  }
};

TEST_CASE("the graph agrees with a naive model under random changes") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    KeyedRandom random(seed, RandomStream::kSimulator, 0);
    SearchGraph graph;
    NaiveGraph naive;
    for (int step = 0; step < 600; ++step) {
      const std::uint32_t kind = random.NextBelow(10);
      if (kind < 4 || graph.size() == 0) {
        std::vector<NodeId> parents;
        NaiveGraph::NaiveNode node;
        for (std::uint32_t i = random.NextBelow(3); i > 0 && graph.size() > 0; --i) {
          const std::uint64_t parent = random.NextBelow(static_cast<std::uint32_t>(graph.size()));
          if (std::find(node.parents.begin(), node.parents.end(), parent) != node.parents.end()) continue;
          node.parents.push_back(parent);
          parents.push_back(NodeId{parent});
        }
        graph.Add(MakeNode(graph.size(), parents));
        naive.nodes.push_back(node);
        continue;
      }
      const std::uint64_t id = random.NextBelow(static_cast<std::uint32_t>(graph.size()));
      if (kind < 8) {
        const double value = random.NextBelow(20);
        graph.RecordEvaluation(NodeId{id}, std::make_shared<const Evaluation>(MakeTimedEvaluation({1})), ScoreOf(value),
                               SearchGraph::Relevance::kScoring);
        naive.nodes[id].score = value;
      } else if (kind == 8) {
        graph.RecordEvaluation(NodeId{id}, std::make_shared<const Evaluation>(MakeFailedEvaluation(Verdict::kIncorrect, "wrong")),
                               std::nullopt, SearchGraph::Relevance::kScoring);
        naive.nodes[id].score.reset();
      } else if (random.NextBelow(4) == 0) {
        const bool subtree = random.NextBelow(2) == 0;
        graph.Veto(NodeId{id}, subtree);
        naive.nodes[id].vetoed = true;
        naive.nodes[id].subtree_vetoed = naive.nodes[id].subtree_vetoed || subtree;
      }
      const std::vector<NodeId> expected = naive.Ranked();
      const auto ranked = graph.ranked();
      REQUIRE(std::equal(ranked.begin(), ranked.end(), expected.begin(), expected.end()));
    }
    for (std::uint64_t id = 0; id < graph.size(); ++id) {
      const Node& node = graph.node(NodeId{id});
      REQUIRE(node.depth == naive.Depth(id));
      REQUIRE((node.state == NodeState::kVetoed) == (naive.nodes[id].vetoed || naive.UnderVeto(id)));
      REQUIRE(std::is_sorted(node.children.begin(), node.children.end()));
      REQUIRE(graph.Find(node.candidate->content_hash()) == NodeId{id});
      for (NodeId child : node.children) {
        const auto& parents = graph.node(child).parents;
        REQUIRE(std::find(parents.begin(), parents.end(), NodeId{id}) != parents.end());
      }
    }
    CHECK_FALSE(graph.Find("nothing").has_value());
  }
}

TEST_CASE("an evaluation at another fidelity can fail a node but not score it") {
  SearchGraph graph;
  graph.Add(MakeNode(0, {}));
  const auto record = [&](const Evaluation& evaluation, std::optional<Score> score, SearchGraph::Relevance relevance) {
    graph.RecordEvaluation(kRootNode, std::make_shared<const Evaluation>(evaluation), score, relevance);
    return graph.node(kRootNode).state;
  };
  CHECK(record(MakeTimedEvaluation({1}), ScoreOf(1), SearchGraph::Relevance::kScoring) == NodeState::kValid);
  CHECK(record(MakeTimedEvaluation({1}, Fidelity::kDevice), ScoreOf(3), SearchGraph::Relevance::kOther) == NodeState::kValid);
  CHECK(graph.node(kRootNode).score->value == 1);
  CHECK(record(MakeTimedEvaluation({1}), std::nullopt, SearchGraph::Relevance::kScoring) == NodeState::kValid);
  CHECK(record(MakeFailedEvaluation(Verdict::kCrashed, "", Fidelity::kDevice), std::nullopt, SearchGraph::Relevance::kOther) ==
        NodeState::kFailed);
  CHECK(graph.ranked().empty());
  CHECK(graph.node(kRootNode).evaluation_count == 4);
}

TEST_CASE("branches move and multiply") {
  SearchGraph graph;
  NodeAdded node = MakeNode(0, {});
  node.branch = "a";
  graph.Add(node);
  graph.Relabel(kRootNode, "b", RelabelOrder::Mode::kCopy);
  graph.Relabel(kRootNode, "b", RelabelOrder::Mode::kCopy);
  CHECK(graph.node(kRootNode).branches == std::vector<std::string>{"a", "b"});
  graph.Relabel(kRootNode, "c", RelabelOrder::Mode::kMove);
  CHECK(graph.node(kRootNode).branches == std::vector<std::string>{"c"});
}

}  // namespace
}  // namespace maxkernel
