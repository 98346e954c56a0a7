// At a fixed number of slots a run on the virtual clock is the same to the last event, however threads are scheduled.
#include "absl/strings/str_cat.h"
#include "maxkernel/policies/beam.h"
#include "maxkernel/policies/best_first.h"
#include "maxkernel/policies/random_selection.h"
#include "maxkernel/testing/simulation.h"
#include "tests/unit/search/search_harness.h"

namespace maxkernel {
namespace {

std::unique_ptr<SelectionPolicy> MakeSelection(int kind) {
  if (kind == 0) return *MakeRandomSelection(RandomSelectionOptions{});
  if (kind == 1) return *MakeBeam(BeamOptions{.width = 3, .branches = 4, .depth = 20});
  return *MakeBestFirst(BestFirstOptions{.max_in_flight_per_node = 1, .penalty = 0.01});
}

std::string JournalOf(int kind, std::uint64_t seed) {
  const Landscape landscape = *Landscape::Create({.seed = 3, .invalid_percent = 20, .noise = 0.02});
  FakeClock clock;
  SimulationOptions simulation;
  simulation.clock = &clock;
  simulation.failed_proposals_percent = 15;
  simulation.fidelity = Fidelity::kCpu;
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(landscape, simulation);
  GroupJournal journal;
  SearchOptions options;
  options.seed = seed;
  options.budget.nodes = 60;
  options.fidelity = Fidelity::kCpu;
  options.expand_workers = 6;
  SearchParts parts;
  parts.baseline = std::make_shared<const Candidate>(landscape.CandidateOf(0));
  parts.selection = MakeSelection(kind);
  parts.expansion = MakeSimulatedExpansion(landscape, simulation);
  parts.evaluator = evaluator.get();
  parts.journal = &journal;
  parts.clock = &clock;
  absl::StatusOr<std::unique_ptr<Search>> search = Search::Create(options, std::move(parts));
  REQUIRE(search.ok());
  (*search)->Run();
  CheckJournal(journal);
  std::string text;
  for (const Event& event : journal.events()) absl::StrAppend(&text, TextOf(event), "\n");
  return text;
}

TEST_CASE("equal seeds give equal journals, other seeds others") {
  for (int kind = 0; kind < 3; ++kind) {
    const std::string first = JournalOf(kind, 11);
    for (int repeat = 0; repeat < 3; ++repeat) REQUIRE(JournalOf(kind, 11) == first);
    CHECK(JournalOf(kind, 12) != first);
  }
}

}  // namespace
}  // namespace maxkernel
