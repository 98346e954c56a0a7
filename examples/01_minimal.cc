// The smallest search: tune the constants of a kernel. The evaluator is a formula; 03_own_evaluator.cc shows how to write a real one.
#include <iostream>

#include "maxkernel/policies/autotune.h"
#include "maxkernel/policies/best_first.h"
#include "maxkernel/policies/tunables.h"
#include "maxkernel/search.h"
#include "maxkernel/testing/fake_evaluator.h"

namespace {

constexpr char kBaseline[] = R"py(
BLOCK_ROWS = 8  # tunable: 8, 16, 32, 64
BLOCK_COLUMNS = 128  # tunable: 128, 256, 512
)py";

// Larger blocks are faster until they no longer fit.
absl::StatusOr<maxkernel::Evaluation> Evaluate(const maxkernel::EvaluateArgs& args) {
  const auto tunables = maxkernel::FindTunables(*args.request.candidate);
  if (!tunables.ok()) return maxkernel::MakeFailedEvaluation(maxkernel::Verdict::kRejected, tunables.status().ToString());
  double elements = 1;
  for (const maxkernel::Tunable& tunable : *tunables) elements *= std::stod(tunable.value);
  if (elements > 20'000) {
    return maxkernel::MakeFailedEvaluation(maxkernel::Verdict::kDoesNotCompile, "the block does not fit into VMEM");
  }
  return maxkernel::MakeTimedEvaluation({1e-3 * 1024 / elements});
}

}  // namespace

int main() {
  const auto baseline = maxkernel::Candidate::FromText("kernel.py", kBaseline);
  auto selection = maxkernel::MakeBestFirst(maxkernel::BestFirstOptions{});
  auto expansion = maxkernel::MakeAutotune(maxkernel::AutotuneOptions{});
  if (!baseline.ok() || !selection.ok() || !expansion.ok()) return 1;
  maxkernel::FakeEvaluator evaluator(Evaluate);
  const auto journal = maxkernel::MakeMemoryJournal();
  const auto clock = maxkernel::MakeSystemClock();

  maxkernel::SearchParts parts;
  parts.baseline = std::make_shared<const maxkernel::Candidate>(*baseline);
  parts.selection = *std::move(selection);
  parts.expansion = *std::move(expansion);
  parts.evaluator = &evaluator;
  parts.journal = journal.get();
  parts.clock = clock.get();
  auto search = maxkernel::Search::Create({.seed = 1}, std::move(parts));
  if (!search.ok()) {
    std::cerr << search.status() << "\n";
    return 1;
  }

  const maxkernel::SearchResult result = (*search)->Run();
  std::cout << result.nodes << " nodes; " << result.reason << "\n";
  if (!result.status.ok() || !result.best.has_value()) return 1;
  const maxkernel::Node& best = (*search)->graph().node(*result.best);
  std::cout << ToString(best.id) << " is " << best.score->value << " times as fast as the baseline:\n" << best.candidate->entry().text;
  return best.score->value > 15.9 ? 0 : 1;
}
