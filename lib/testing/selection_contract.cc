#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/testing/contract_run.h"
#include "maxkernel/testing/contract.h"
#include "maxkernel/testing/fake_evaluator.h"

namespace maxkernel {
namespace {

using Factory = std::function<std::unique_ptr<SelectionPolicy>()>;

bool IsScored(const RunState& state) { return !state.graph().ranked().empty() && state.graph().champion().has_value(); }

// Folds the events of a run into one policy, and at some prefixes into a fresh one; all answers must agree.
void CheckPurity(const Factory& make, std::uint64_t seed, const std::vector<Event>& events, std::vector<std::string>& violations) {
  const std::unique_ptr<SelectionPolicy> policy = make();
  Fold fold(seed);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!fold.Apply(events[i])) return;
    policy->OnEvent(fold.ArgsOf(events[i]));
    if (!IsScored(fold.state()) || i + 1 == events.size()) continue;
    const Decision first = policy->Select(fold.Select());
    if (first != policy->Select(fold.Select())) {
      violations.push_back(absl::StrCat("seed ", seed, ", event ", i + 1, ": Select answers differently when asked twice; it has to be a "
                                        "pure function of the events and its arguments"));
      return;
    }
    if (i % 17 != 0) continue;
    const std::unique_ptr<SelectionPolicy> fresh = make();
    Fold again(seed);
    for (std::size_t j = 0; j <= i; ++j) {
      static_cast<void>(again.Apply(events[j]));
      fresh->OnEvent(again.ArgsOf(events[j]));
    }
    if (first != fresh->Select(again.Select())) {
      violations.push_back(absl::StrCat("seed ", seed, ", event ", i + 1, ": a fresh policy that was told the same events answers "
                                        "differently: '", first.why, "' against '", fresh->Select(again.Select()).why, "'"));
      return;
    }
  }
}

void CheckRun(const Factory& make, std::uint64_t seed, std::vector<std::string>& violations) {
  const ContractRun run = RunSimulation(seed, make(), nullptr);
  if (!run.result.status.ok()) {
    violations.push_back(absl::StrCat("seed ", seed, ": the run ended with ", run.result.status.ToString()));
  }
  if (run.result.reason.rfind("stuck", 0) == 0) violations.push_back(absl::StrCat("seed ", seed, ": ", run.result.reason));
  CheckPurity(make, seed, run.events, violations);
}

Event MakeEvent(const Fold& fold, EventBody body) {
  return {fold.state().next_sequence(), absl::FromUnixSeconds(1'700'000'000), std::move(body)};
}

// A graph of valid nodes, without orders: every node but the root was put there by hand.
class GraphBuilder {
 public:
  explicit GraphBuilder(SelectionPolicy& policy) : policy_(policy) { Tell(RunStarted{}); }

  void Add(std::optional<double> speedup) {
    const std::uint64_t id = fold_.state().graph().size();
    NodeAdded node;
    node.node = NodeId{id};
    if (id > 0) node.parents = {NodeId{(id - 1) / 3}};
    node.candidate = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", absl::StrCat("# ", id)));
    Tell(std::move(node));
    EvaluationDispatched dispatched;
    dispatched.work = fold_.state().next_work();
    dispatched.node = NodeId{id};
    Tell(dispatched);
    EvaluationFinished finished;
    finished.work = dispatched.work;
    finished.node = NodeId{id};
    if (speedup.has_value()) {
      finished.evaluation = MakeTimedEvaluation({1 / *speedup});
      finished.score = Score{*speedup, *speedup, *speedup, Fidelity::kEstimate};
    } else {
      finished.settle = Settle::kCandidateFailed;
      finished.evaluation = MakeFailedEvaluation(Verdict::kIncorrect, "wrong");
    }
    Tell(std::move(finished));
    if (id == 0 && speedup.has_value()) Tell(NewChampion{kRootNode, {1, 1, 1, Fidelity::kEstimate}});
  }

  void Veto(NodeId node) { Tell(NodeVetoed{node, false, ""}); }

  const Fold& fold() const { return fold_; }

 private:
  void Tell(EventBody body) {
    const Event event = MakeEvent(fold_, std::move(body));
    static_cast<void>(fold_.Apply(event));
    policy_.OnEvent(fold_.ArgsOf(event));
  }

  SelectionPolicy& policy_;
  Fold fold_{1};
};

void CheckAnswer(const std::string& situation, SelectionPolicy& policy, const Fold& fold, std::vector<std::string>& violations) {
  const Decision decision = policy.Select(fold.Select());
  for (const Order& order : decision.orders) {
    const auto* expand = std::get_if<ExpandOrder>(&order);
    if (expand == nullptr) continue;
    for (NodeId parent : expand->parents) {
      if (ToNumber(parent) >= fold.state().graph().size()) {
        violations.push_back(absl::StrCat(situation, ": an order names ", ToString(parent), ", which is not in the graph"));
      } else if (fold.state().graph().node(parent).state == NodeState::kVetoed) {
        violations.push_back(absl::StrCat(situation, ": an order expands ", ToString(parent), ", which a person has vetoed"));
      }
    }
  }
  if (decision.kind == Decision::Kind::kWait) {
    violations.push_back(absl::StrCat(situation, ": waits although nothing is in flight; the run would end as stuck"));
  }
}

void CheckSmallGraphs(const Factory& make, std::vector<std::string>& violations) {
  {
    const auto policy = make();
    GraphBuilder graph(*policy);
    graph.Add(1.0);
    CheckAnswer("a graph of the root alone", *policy, graph.fold(), violations);
  }
  {
    const auto policy = make();
    GraphBuilder graph(*policy);
    graph.Add(1.0);
    for (int i = 0; i < 5; ++i) graph.Add(std::nullopt);
    graph.Veto(kRootNode);
    CheckAnswer("a graph without a valid node", *policy, graph.fold(), violations);
  }
  {
    const auto policy = make();
    GraphBuilder graph(*policy);
    for (int i = 0; i < 8; ++i) graph.Add(1.0);
    CheckAnswer("a graph of equals", *policy, graph.fold(), violations);
  }
}

void CheckSpeed(const Factory& make, absl::Duration limit, std::vector<std::string>& violations) {
  const auto policy = make();
  GraphBuilder graph(*policy);
  KeyedRandom random(1, RandomStream::kSimulator, 0);
  for (int i = 0; i < 10'000; ++i) graph.Add(i == 0 ? 1.0 : 0.5 + random.NextDouble());
  constexpr int kCalls = 20;
  const absl::Time start = absl::Now();
  for (int i = 0; i < kCalls; ++i) static_cast<void>(policy->Select(graph.fold().Select()));
  const absl::Duration mean = (absl::Now() - start) / kCalls;
  if (mean > limit) {
    violations.push_back(absl::StrCat("Select takes ", absl::FormatDuration(mean), " on a graph of 10,000 nodes; the limit is ",
                                      absl::FormatDuration(limit)));
  }
}

}  // namespace

std::vector<std::string> CheckSelectionContract(const Factory& make, const SelectionContractOptions& options) {
  std::vector<std::string> violations;
  const std::optional<std::string> exception = TextOfException([&] {
    for (std::uint64_t seed : options.seeds) CheckRun(make, seed, violations);
    CheckSmallGraphs(make, violations);
    if (options.select_limit != absl::InfiniteDuration()) CheckSpeed(make, options.select_limit, violations);
  });
  if (exception.has_value()) violations.push_back(absl::StrCat("the policy threw: ", *exception));
  return violations;
}

}  // namespace maxkernel
