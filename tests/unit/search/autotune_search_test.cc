// The narrow path: a whole search with built-in policies.
#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "maxkernel/policies/autotune.h"
#include "maxkernel/policies/best_first.h"
#include "maxkernel/policies/tunables.h"
#include "maxkernel/search.h"
#include "maxkernel/testing/fake_clock.h"
#include "maxkernel/testing/fake_evaluator.h"

namespace maxkernel {
namespace {

constexpr char kSource[] = R"py(import jax

ROWS = 8  # tunable: 8, 16, 32
COLUMNS = 128  # tunable: 128, 256, 512
DOUBLE = False  # tunable: False, True
)py";

// Fastest with ROWS = 32, COLUMNS = 256, DOUBLE = True.
absl::StatusOr<Evaluation> TimeOf(const EvaluateArgs& args) {
  const absl::StatusOr<std::vector<Tunable>> tunables = FindTunables(*args.request.candidate);
  if (!tunables.ok()) return tunables.status();
  double seconds = 1;
  for (const Tunable& tunable : *tunables) {
    if (tunable.name == "ROWS") seconds *= 8.0 / std::stoi(tunable.value);
    if (tunable.name == "COLUMNS" && tunable.value == "256") seconds *= 0.5;
    if (tunable.name == "DOUBLE" && tunable.value == "True") seconds *= 0.75;
  }
  return MakeTimedEvaluation({seconds});
}

SearchResult TuneWith(AutotuneOptions::Method method, std::unique_ptr<Journal>& journal) {
  FakeClock clock;
  FakeEvaluatorOptions evaluator_options;
  evaluator_options.clock = &clock;
  evaluator_options.latency = [](const EvaluateRequest&) { return absl::Seconds(10); };
  FakeEvaluator evaluator(TimeOf, evaluator_options);
  journal = MakeMemoryJournal();
  SearchParts parts;
  parts.baseline = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", kSource));
  parts.selection = *MakeBestFirst(BestFirstOptions{});
  parts.expansion = *MakeAutotune(AutotuneOptions{method});
  parts.evaluator = &evaluator;
  parts.journal = journal.get();
  parts.clock = &clock;
  absl::StatusOr<std::unique_ptr<Search>> search = Search::Create({}, std::move(parts));
  REQUIRE(search.ok());
  return (*search)->Run();
}

TEST_CASE("an exhaustive search over tunables visits every combination once and finds the best") {
  for (auto method : {AutotuneOptions::Method::kExhaustive, AutotuneOptions::Method::kRandom}) {
    std::unique_ptr<Journal> journal;
    const SearchResult result = TuneWith(method, journal);
    INFO(result.reason);
    CHECK(result.status.ok());
    CHECK(result.reason == "exhausted: every valid node is exhausted or has all its children");
    CHECK(result.nodes == 18);
    CHECK(result.cost.evaluations == 18);
    REQUIRE(result.best_score.has_value());
    CHECK(result.best_score->value == Approx(1 / (0.25 * 0.5 * 0.75)));
    const absl::StatusOr<RunSummary> summary = ReadRun(*journal);
    REQUIRE(summary.ok());
    CHECK(summary->end_reason == result.reason);
    CHECK(summary->graph->champion() == result.best);
    CHECK(summary->duplicates == 0);
  }
}

TEST_CASE("hill climbing over tunables reaches the best combination") {
  std::unique_ptr<Journal> journal;
  const SearchResult result = TuneWith(AutotuneOptions::Method::kNeighbour, journal);
  REQUIRE(result.best_score.has_value());
  CHECK(result.best_score->value == Approx(1 / (0.25 * 0.5 * 0.75)));
}

}  // namespace
}  // namespace maxkernel
