// An evaluator of one's own: here candidates are arithmetic expressions that have to equal 24, and the shortest one is the fastest.
// What is wrong with a candidate is a verdict; a Status is for what is wrong with the world.
#include <iostream>
#include <sstream>

#include "maxkernel/policies/best_first.h"
#include "maxkernel/search.h"
#include "maxkernel/testing/contract.h"
#include "maxkernel/testing/fake_expansion.h"

namespace {

using maxkernel::Evaluation;
using maxkernel::Fidelity;
using maxkernel::Stage;
using maxkernel::StageStatus;
using maxkernel::Verdict;

class SumEvaluator final : public maxkernel::Evaluator {
 public:
  absl::StatusOr<maxkernel::EvaluatorInfo> Describe() override { return maxkernel::EvaluatorInfo{"sums", {Fidelity::kEstimate}, 2, {}}; }

  // Called from several threads: it has no state.
  absl::StatusOr<Evaluation> Evaluate(const maxkernel::EvaluateArgs& args) override {
    if (args.stop.stop_requested()) return absl::CancelledError("cancelled");
    Evaluation evaluation;
    evaluation.fidelity = args.request.fidelity;
    std::istringstream text(args.request.candidate->entry().text);
    int sum = 0;
    int terms = 0;
    for (int term = 0; text >> term; ++terms) sum += term;
    if (!text.eof()) return Fail(evaluation, Stage::kCompile, Verdict::kDoesNotCompile, "expected numbers and blanks");
    evaluation.stages.push_back({Stage::kCompile, StageStatus::kPassed, {}, {}});
    if (sum != 24) return Fail(evaluation, Stage::kTest, Verdict::kIncorrect, "the sum is " + std::to_string(sum) + ", not 24");
    evaluation.stages.push_back({Stage::kTest, StageStatus::kPassed, {}, {}});
    evaluation.verdict = Verdict::kCorrect;
    maxkernel::CaseResult result;
    result.name = "only";
    result.samples_seconds = {1e-6 * terms};
    evaluation.cases.push_back(std::move(result));
    return evaluation;
  }

 private:
  static Evaluation Fail(Evaluation evaluation, Stage stage, Verdict verdict, std::string reason) {
    maxkernel::Diagnostic diagnostic;
    diagnostic.class_name = "sum";
    diagnostic.message = reason;
    evaluation.stages.push_back({stage, StageStatus::kFailed, {}, {std::move(diagnostic)}});
    evaluation.verdict = verdict;
    evaluation.reason = std::move(reason);
    return evaluation;
  }
};

std::shared_ptr<const maxkernel::Candidate> Sum(std::string_view text) {
  return std::make_shared<const maxkernel::Candidate>(*maxkernel::Candidate::FromText("sum.txt", text));
}

// Joins the first two terms, or now and then changes one.
absl::StatusOr<maxkernel::ProposeResult> Edit(const maxkernel::ProposeArgs& args) {
  maxkernel::KeyedRandom random = args.random;
  std::istringstream text(args.request.parents.front().candidate->entry().text);
  int first = 0;
  int second = 0;
  text >> first >> second;
  std::string rest;
  std::getline(text, rest);
  return maxkernel::MakeProposal(std::to_string(first + second + (random.NextBelow(3) == 0 ? 1 : 0)) + rest);
}

}  // namespace

int main() {
  SumEvaluator evaluator;
  const auto violations = CheckEvaluatorContract(evaluator, {Sum("20 4"), Sum("20 5")});
  for (const std::string& violation : violations) std::cerr << violation << "\n";
  if (!violations.empty()) return 1;

  const auto journal = maxkernel::MakeMemoryJournal();
  const auto clock = maxkernel::MakeSystemClock();
  maxkernel::SearchOptions options;
  options.budget.evaluations = 60;
  maxkernel::SearchParts parts;
  parts.baseline = Sum("4 4 4 4 4 4");
  parts.selection = *maxkernel::MakeBestFirst(maxkernel::BestFirstOptions{.max_children_per_node = 8});
  parts.expansion = maxkernel::MakeFakeExpansion({Edit, {}, {}});
  parts.evaluator = &evaluator;
  parts.journal = journal.get();
  parts.clock = clock.get();
  auto search = maxkernel::Search::Create(options, std::move(parts));
  if (!search.ok()) return 1;
  const maxkernel::SearchResult result = (*search)->Run();
  std::cout << (*search)->graph().node(*result.best).candidate->entry().text << " is " << result.best_score->value << " times as fast\n";
  return result.best_score->value > 5.9 ? 0 : 1;
}
