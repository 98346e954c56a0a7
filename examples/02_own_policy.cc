// A selection policy of one's own: epsilon-greedy. It keeps no state, so OnEvent is empty; a policy with state changes it there and nowhere
// else, which is all that it takes to be resumable.
#include <iostream>

#include "maxkernel/search.h"
#include "maxkernel/testing/contract.h"
#include "maxkernel/testing/simulation.h"

namespace {

class EpsilonGreedy final : public maxkernel::SelectionPolicy {
 public:
  explicit EpsilonGreedy(double epsilon) : epsilon_(epsilon) {}

  void OnEvent(const maxkernel::OnEventArgs&) override {}

  maxkernel::Decision Select(const maxkernel::SelectArgs& args) const override {
    using maxkernel::Decision;
    const auto ranked = args.graph.ranked();
    if (args.free.expand == 0) return Decision::Wait("no free worker");
    if (ranked.empty()) {
      const bool idle = args.in_flight.proposals() + args.in_flight.evaluations() + args.in_flight.waiting_evaluations() == 0;
      return idle ? Decision::Exhausted("no valid node") : Decision::Wait("for a valid node");
    }
    // Numbers come from the arguments, never from a generator of one's own: that is what makes runs repeatable.
    maxkernel::KeyedRandom random = args.random;
    const bool explore = random.NextDouble() < epsilon_;
    maxkernel::ExpandOrder order;
    order.parents = {explore ? ranked[random.NextBelow(static_cast<std::uint32_t>(ranked.size()))] : ranked.front()};
    return Decision::Orders({std::move(order)}, explore ? "exploring" : "the best node");
  }

 private:
  const double epsilon_;
};

}  // namespace

int main() {
  // First see whether it keeps the rules.
  const auto violations = maxkernel::CheckSelectionContract([] { return std::make_unique<EpsilonGreedy>(0.2); });
  for (const std::string& violation : violations) std::cerr << violation << "\n";
  if (!violations.empty()) return 1;

  // Then let it search a landscape with a known optimum, on a virtual clock: this takes milliseconds.
  const auto landscape = maxkernel::Landscape::Create({.seed = 5, .bits = 12, .partners = 3, .invalid_percent = 20});
  if (!landscape.ok()) return 1;
  maxkernel::FakeClock clock;
  maxkernel::SimulationOptions simulation;
  simulation.clock = &clock;
  const auto evaluator = MakeSimulatedEvaluator(*landscape, simulation);
  const auto journal = maxkernel::MakeMemoryJournal();
  maxkernel::SearchOptions options;
  options.budget.evaluations = 200;
  maxkernel::SearchParts parts;
  parts.baseline = std::make_shared<const maxkernel::Candidate>(landscape->CandidateOf(0));
  parts.selection = std::make_unique<EpsilonGreedy>(0.2);
  parts.expansion = MakeSimulatedExpansion(*landscape, simulation);
  parts.evaluator = evaluator.get();
  parts.journal = journal.get();
  parts.clock = &clock;
  auto search = maxkernel::Search::Create(options, std::move(parts));
  if (!search.ok()) return 1;
  const absl::Time start = clock.Now();
  const maxkernel::SearchResult result = (*search)->Run();
  const double optimum = landscape->Seconds(0) / landscape->Seconds(landscape->Optimum());
  std::cout << "found " << result.best_score->value << " of " << optimum << " with " << result.cost.evaluations << " evaluations in "
            << absl::FormatDuration(clock.Now() - start) << " of virtual time\n";
  return result.status.ok() && result.best_score->value > 1 ? 0 : 1;
}
