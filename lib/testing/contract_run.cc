#include "lib/testing/contract_run.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/check.h"
#include "maxkernel/testing/fake_evaluator.h"
#include "maxkernel/testing/fake_expansion.h"

namespace maxkernel {
namespace {

// Expands a random valid node for ever; the contract suites do not depend on the built-in policies.
std::unique_ptr<SelectionPolicy> MakeAnySelection() {
  FakeSelectionFunctions functions;
  functions.select = [](const SelectArgs& args) {
    if (args.free.expand == 0) return Decision::Wait("no free worker");
    KeyedRandom random = args.random;
    const std::span<const NodeId> ranked = args.graph.ranked();
    ExpandOrder order;
    order.parents = {ranked.empty() ? kRootNode : ranked[random.NextBelow(static_cast<std::uint32_t>(ranked.size()))]};
    return Decision::Orders({std::move(order)}, "drawn");
  };
  return MakeFakeSelection(std::move(functions));
}

// Vetoes a node now and then, as a person might.
class Vetoer final : public SearchObserver {
 public:
  explicit Vetoer(std::function<void(NodeId, bool)> veto) : veto_(std::move(veto)) {}
  void OnEvent(const ObserveArgs& args) override {
    const auto* added = std::get_if<NodeAdded>(&args.event.body);
    if (added == nullptr || ToNumber(added->node) % 13 != 12) return;
    veto_(NodeId{ToNumber(added->node) / 2}, ToNumber(added->node) % 2 == 0);
  }

 private:
  const std::function<void(NodeId, bool)> veto_;
};

}  // namespace

ContractRun RunSimulation(std::uint64_t seed, std::unique_ptr<SelectionPolicy> selection, std::unique_ptr<StopPolicy> stop) {
  const absl::StatusOr<Landscape> landscape = Landscape::Create({.seed = seed, .bits = 8, .partners = 2, .invalid_percent = 25, .noise = 0.02});
  MAXKERNEL_CHECK(landscape.ok());
  FakeClock clock;
  SimulationOptions simulation;
  simulation.clock = &clock;
  simulation.failed_proposals_percent = 20;
  simulation.fidelity = Fidelity::kCpu;
  const std::unique_ptr<Evaluator> simulated = MakeSimulatedEvaluator(*landscape, simulation);
  FakeEvaluatorOptions evaluator_options;
  evaluator_options.info = *simulated->Describe();
  // One call in ten fails for the infrastructure. Keyed by the request and the moment, so that a retry may do better.
  FakeEvaluator flaky(
      [&](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
        const std::string draw = Sha256Hex(absl::StrCat(args.request.idempotency_key, absl::ToUnixNanos(clock.Now())));
        if (draw < "199") return absl::UnavailableError("a simulated fault");
        return simulated->Evaluate(args);
      },
      evaluator_options);

  const std::unique_ptr<Journal> journal = MakeMemoryJournal();
  Search* running = nullptr;
  Vetoer vetoer([&](NodeId node, bool subtree) {
    static_cast<void>(running->Veto(node, subtree ? Search::VetoScope::kSubtree : Search::VetoScope::kNode, "simulated"));
  });
  SearchOptions options;
  options.seed = seed;
  options.budget.nodes = 60;
  options.budget.wall_time = absl::Hours(2);
  options.fidelity = Fidelity::kCpu;
  options.expand_workers = 4;
  options.retries = 1;
  SearchParts parts;
  parts.baseline = std::make_shared<const Candidate>(landscape->CandidateOf(0));
  parts.selection = selection == nullptr ? MakeAnySelection() : std::move(selection);
  parts.expansion = MakeSimulatedExpansion(*landscape, simulation);
  parts.stop = std::move(stop);
  parts.evaluator = &flaky;
  parts.journal = journal.get();
  parts.clock = &clock;
  parts.observers = {&vetoer};
  absl::StatusOr<std::unique_ptr<Search>> search = Search::Create(options, std::move(parts));
  MAXKERNEL_CHECK(search.ok());
  running = search->get();

  ContractRun run;
  run.result = (*search)->Run();
  const absl::Status read = journal->ForEach([&](const Event& event) {
    run.events.push_back(event);
    return absl::OkStatus();
  });
  MAXKERNEL_CHECK(read.ok());
  return run;
}

}  // namespace maxkernel
