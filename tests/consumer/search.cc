// What a program that embeds the library may look like: a search with the built-in policies and an evaluator of its own.
#include <cmath>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "maxkernel/policies/builtin_policies.h"
#include "maxkernel/search.h"

namespace {

// Times a candidate by the constant in its text: 64 is best.
class TextEvaluator : public maxkernel::Evaluator {
 public:
  absl::StatusOr<maxkernel::EvaluatorInfo> Describe() override {
    maxkernel::EvaluatorInfo info;
    info.name = "text";
    info.fidelities = {maxkernel::Fidelity::kEstimate};
    return info;
  }

  absl::StatusOr<maxkernel::Evaluation> Evaluate(const maxkernel::EvaluateArgs& args) override {
    const std::string& text = args.request.candidate->entry().text;
    int block = 0;
    if (!absl::SimpleAtoi(text.substr(text.find('=') + 1, text.find('#') - text.find('=') - 1), &block)) {
      return absl::InternalError("no number in the candidate");
    }
    maxkernel::CaseResult result;
    result.name = "only";
    result.samples_seconds = {1e-3 * (1 + std::abs(std::log2(block / 64.0)))};
    maxkernel::Evaluation evaluation;
    evaluation.verdict = maxkernel::Verdict::kCorrect;
    evaluation.cases = {result};
    return evaluation;
  }
};

int Fail(const absl::Status& status) {
  std::cerr << status << "\n";
  return 1;
}

}  // namespace

int main() {
  maxkernel::PolicyRegistry registry;
  if (absl::Status status = maxkernel::RegisterBuiltinPolicies(registry); !status.ok()) return Fail(status);
  auto selection = registry.MakeSelection({"best_first", {}});
  if (!selection.ok()) return Fail(selection.status());
  auto expansion = registry.MakeExpansion({"autotune", {}});
  if (!expansion.ok()) return Fail(expansion.status());
  auto baseline = maxkernel::Candidate::FromText("kernel.py", "BLOCK = 8  # tunable: 8, 16, 32, 64, 128\n");
  if (!baseline.ok()) return Fail(baseline.status());

  TextEvaluator evaluator;
  const auto journal = maxkernel::MakeMemoryJournal();
  const auto clock = maxkernel::MakeSystemClock();
  maxkernel::SearchParts parts;
  parts.baseline = std::make_shared<const maxkernel::Candidate>(*std::move(baseline));
  parts.selection = *std::move(selection);
  parts.expansion = *std::move(expansion);
  parts.evaluator = &evaluator;
  parts.journal = journal.get();
  parts.clock = clock.get();
  auto search = maxkernel::Search::Create({}, std::move(parts));
  if (!search.ok()) return Fail(search.status());
  const maxkernel::SearchResult result = (*search)->Run();
  if (!result.status.ok()) return Fail(result.status);
  std::cout << "best " << result.best_score->value << "\n";
  return std::abs(result.best_score->value - 4) < 1e-9 ? 0 : 1;
}
