// Which nodes the selection policies choose, on graphs made by hand.
#include <catch2/catch.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "lib/search/run_state.h"
#include "maxkernel/policies/beam.h"
#include "maxkernel/policies/best_first.h"
#include "maxkernel/policies/random_selection.h"
#include "maxkernel/testing/fake_evaluator.h"

namespace maxkernel {
namespace {

// A policy and the state of a run, told the same events.
class Scene {
 public:
  explicit Scene(std::unique_ptr<SelectionPolicy> policy) : policy_(std::move(policy)) {
    Tell(RunStarted{});
    AddNode({}, 1.0);
    Tell(NewChampion{kRootNode, {1, 1, 1, Fidelity::kEstimate}});
  }

  // nullopt: the node is not correct.
  NodeId AddNode(std::vector<NodeId> parents, std::optional<double> score) {
    NodeAdded node;
    node.node = NodeId{state_.graph().size()};
    node.parents = std::move(parents);
    node.candidate = std::make_shared<const Candidate>(*Candidate::FromText("k.py", absl::StrCat("# ", ToNumber(node.node))));
    const NodeId id = node.node;
    Tell(std::move(node));
    EvaluationDispatched dispatched;
    dispatched.work = state_.next_work();
    dispatched.node = id;
    Tell(dispatched);
    EvaluationFinished finished;
    finished.work = dispatched.work;
    finished.node = id;
    finished.settle = score.has_value() ? Settle::kOk : Settle::kCandidateFailed;
    finished.evaluation = score.has_value() ? MakeTimedEvaluation({1 / *score}) : MakeFailedEvaluation(Verdict::kIncorrect, "no");
    if (score.has_value()) finished.score = Score{*score, *score, *score, Fidelity::kEstimate};
    Tell(std::move(finished));
    return id;
  }

  Decision Ask() const {
    return policy_->Select({state_.next_decision(), state_.graph(), state_.in_flight(), state_.budget(), {4, 4}, absl::UnixEpoch(),
                            KeyedRandom(1, RandomStream::kSelect, ToNumber(state_.next_decision()))});
  }

  // Asks, and records the answer as the engine does. The parent, or nullopt for another answer than one expand order.
  std::optional<NodeId> Decide() {
    const Decision decision = Ask();
    if (decision.orders.empty()) return std::nullopt;
    const DecisionId id = state_.next_decision();
    Tell(DecisionMade{id, decision, {4, 4}});
    return std::get<ExpandOrder>(decision.orders.front()).parents.front();
  }

  // Settles the order of a decision without a child.
  void Settle(std::uint64_t decision, bool exhausted = false) {
    ProposalDispatched dispatched;
    dispatched.work = state_.next_work();
    dispatched.decision = DecisionId{decision};
    Tell(dispatched);
    ProposalFinished finished;
    finished.work = dispatched.work;
    finished.settle = maxkernel::Settle::kCandidateFailed;
    Tell(finished);
    OrderSettled settled;
    settled.decision = DecisionId{decision};
    settled.settle = maxkernel::Settle::kCandidateFailed;
    settled.exhausted = exhausted;
    Tell(settled);
  }

  void Veto(NodeId node, bool subtree) { Tell(NodeVetoed{node, subtree, ""}); }

 private:
  void Tell(EventBody body) {
    const Event event{state_.next_sequence(), absl::UnixEpoch(), std::move(body)};
    const absl::Status applied = state_.Apply(event);
    INFO(applied.ToString());
    REQUIRE(applied.ok());
    policy_->OnEvent({event, state_.graph(), KeyedRandom(1, RandomStream::kOnEvent, ToNumber(event.sequence))});
  }

  RunState state_;
  std::unique_ptr<SelectionPolicy> policy_;
};

TEST_CASE("best_first takes the best node, ties to the older one, up to its limit in flight") {
  Scene scene(*MakeBestFirst(BestFirstOptions{.max_in_flight_per_node = 2}));
  scene.AddNode({kRootNode}, 3.0);
  scene.AddNode({kRootNode}, 2.0);
  scene.AddNode({kRootNode}, 3.0);
  scene.AddNode({kRootNode}, std::nullopt);
  std::vector<std::uint64_t> order;
  while (const std::optional<NodeId> parent = scene.Decide()) order.push_back(ToNumber(*parent));
  CHECK(order == std::vector<std::uint64_t>{1, 1, 3, 3, 2, 2, 0, 0});
  CHECK(scene.Ask().kind == Decision::Kind::kWait);
  scene.Settle(1);
  CHECK(scene.Decide() == NodeId{1});
}

TEST_CASE("best_first with a penalty spreads over near-equals") {
  Scene scene(*MakeBestFirst(BestFirstOptions{.max_in_flight_per_node = 10, .penalty = 0.5}));
  scene.AddNode({kRootNode}, 3.0);
  scene.AddNode({kRootNode}, 2.75);
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 5; ++i) order.push_back(ToNumber(*scene.Decide()));
  CHECK(order == std::vector<std::uint64_t>{1, 2, 1, 2, 1});
  // A settled order counts like one in flight.
  scene.Settle(1);
  CHECK(scene.Decide() == NodeId{2});
}

TEST_CASE("best_first is exhausted when all nodes are, and only when nothing is in flight") {
  Scene scene(*MakeBestFirst(BestFirstOptions{.max_children_per_node = 3}));
  const NodeId child = scene.AddNode({kRootNode}, 2.0);
  CHECK(scene.Decide() == child);
  scene.Settle(1, true);
  CHECK(scene.Decide() == kRootNode);
  CHECK(scene.Decide() == kRootNode);
  CHECK(scene.Ask().kind == Decision::Kind::kWait);
  scene.Settle(2);
  CHECK(scene.Decide() == kRootNode);
  CHECK(scene.Ask().kind == Decision::Kind::kWait);
  scene.Settle(3);
  scene.Settle(4);
  CHECK(scene.Ask().kind == Decision::Kind::kExhausted);
}

TEST_CASE("best_first lets go of a vetoed subtree") {
  Scene scene(*MakeBestFirst(BestFirstOptions{}));
  const NodeId child = scene.AddNode({kRootNode}, 2.0);
  scene.AddNode({child}, 3.0);
  scene.Veto(child, true);
  CHECK(scene.Decide() == kRootNode);
}

TEST_CASE("random draws every open node and no other") {
  Scene scene(*MakeRandomSelection(RandomSelectionOptions{}));
  for (int i = 0; i < 4; ++i) scene.AddNode({kRootNode}, 1.5);
  scene.AddNode({kRootNode}, std::nullopt);
  std::map<std::uint64_t, int> counts;
  for (int i = 0; i < 500; ++i) ++counts[ToNumber(*scene.Decide())];
  CHECK(counts.size() == 5);
  for (const auto& [node, count] : counts) CHECK(count > 60);
}

TEST_CASE("random respects its limit and is exhausted behind it") {
  Scene scene(*MakeRandomSelection(RandomSelectionOptions{.max_children_per_node = 2}));
  scene.AddNode({kRootNode}, 1.5);
  std::map<std::uint64_t, int> counts;
  while (const std::optional<NodeId> parent = scene.Decide()) ++counts[ToNumber(*parent)];
  CHECK(counts == std::map<std::uint64_t, int>{{0, 2}, {1, 2}});
  CHECK(scene.Ask().kind == Decision::Kind::kWait);
  for (std::uint64_t decision = 1; decision <= 4; ++decision) scene.Settle(decision);
  CHECK(scene.Ask().kind == Decision::Kind::kExhausted);
}

TEST_CASE("a beam gives its members branches, the least used and shallowest first") {
  Scene scene(*MakeBeam(BeamOptions{.width = 2, .branches = 2, .depth = 3}));
  const NodeId a = scene.AddNode({kRootNode}, 1.5);
  const NodeId b = scene.AddNode({kRootNode}, 2.0);
  scene.AddNode({kRootNode}, 1.2);  // third at its depth
  std::vector<std::uint64_t> order;
  while (const std::optional<NodeId> parent = scene.Decide()) order.push_back(ToNumber(*parent));
  CHECK(order == std::vector<std::uint64_t>{0, ToNumber(b), ToNumber(a), 0, ToNumber(b), ToNumber(a)});
  // A better node takes a place in the beam; the one that is overtaken has had its branches.
  const NodeId c = scene.AddNode({kRootNode}, 3.0);
  CHECK(scene.Decide() == c);
  CHECK(scene.Decide() == c);
  CHECK_FALSE(scene.Decide().has_value());
  for (std::uint64_t decision = 1; decision <= 8; ++decision) scene.Settle(decision);
  CHECK(scene.Ask().kind == Decision::Kind::kExhausted);
}

TEST_CASE("a beam fills up with nodes that fall short of keep_factor, and goes no deeper than its depth") {
  Scene scene(*MakeBeam(BeamOptions{.width = 2, .branches = 1, .depth = 2, .keep_factor = 1.5}));
  const NodeId short_of_it = scene.AddNode({kRootNode}, 1.4);
  const NodeId passes = scene.AddNode({kRootNode}, 1.6);
  const NodeId also_short = scene.AddNode({kRootNode}, 1.2);
  scene.AddNode({passes}, 9.0);  // at the last depth: made, not expanded
  std::set<std::uint64_t> parents;
  while (const std::optional<NodeId> parent = scene.Decide()) parents.insert(ToNumber(*parent));
  CHECK(parents == std::set<std::uint64_t>{0, ToNumber(short_of_it), ToNumber(passes)});
  static_cast<void>(also_short);
}

TEST_CASE("orders carry the operator that the options name") {
  Scene scene(*MakeBeam(BeamOptions{.operator_name = "repair"}));
  const Decision decision = scene.Ask();
  REQUIRE(decision.orders.size() == 1);
  CHECK(std::get<ExpandOrder>(decision.orders[0]).operator_name == "repair");
}

}  // namespace
}  // namespace maxkernel
