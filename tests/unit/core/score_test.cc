#include "maxkernel/score.h"

#include <catch2/catch.hpp>

namespace maxkernel {
namespace {

Evaluation Timed(std::vector<std::vector<double>> cases) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kCorrect;
  int index = 0;
  for (auto& samples : cases) {
    CaseResult result;
    result.name = "case" + std::to_string(index++);
    result.samples_seconds = std::move(samples);
    evaluation.cases.push_back(result);
  }
  return evaluation;
}

TEST_CASE("Geometric mean speed-up takes medians and averages ratios geometrically") {
  const auto objective = MakeGeometricMeanSpeedup();
  const auto score = objective->Evaluate(Timed({{4, 4, 4}, {1}}), Timed({{1, 1, 9}, {1}}));
  REQUIRE(score.has_value());
  CHECK(score->value == Approx(2.0));
  CHECK(score->low <= score->value);
  CHECK(score->high >= score->value);
}

TEST_CASE("A score from single samples has an interval of no width") {
  const auto score = MakeGeometricMeanSpeedup()->Evaluate(Timed({{3}}), Timed({{2}}));
  REQUIRE(score.has_value());
  CHECK(score->low == score->value);
  CHECK(score->high == score->value);
}

TEST_CASE("The interval widens with the spread and narrows with the number of samples") {
  const auto objective = MakeGeometricMeanSpeedup();
  const auto width = [&](std::vector<double> samples) {
    const auto score = objective->Evaluate(Timed({{1, 1, 1, 1, 1, 1, 1, 1}}), Timed({std::move(samples)}));
    return score->high - score->low;
  };
  CHECK(width({1, 1.1, 0.9}) > width({1, 1.01, 0.99}));
  CHECK(width({1, 1.1, 0.9}) > width({1, 1.1, 0.9, 1, 1.1, 0.9, 1}));
}

TEST_CASE("There is no score without two comparable, complete, correct evaluations") {
  const auto objective = MakeGeometricMeanSpeedup();
  const Evaluation baseline = Timed({{2}, {2}});
  Evaluation candidate = Timed({{1}, {1}});
  REQUIRE(objective->Evaluate(baseline, candidate).has_value());

  Evaluation wrong = candidate;
  wrong.verdict = Verdict::kIncorrect;
  CHECK_FALSE(objective->Evaluate(baseline, wrong).has_value());

  Evaluation other_fidelity = candidate;
  other_fidelity.fidelity = Fidelity::kCpu;
  CHECK_FALSE(objective->Evaluate(baseline, other_fidelity).has_value());

  Evaluation other_chip = candidate;
  other_chip.environment["chip"] = "v6e";
  CHECK_FALSE(objective->Evaluate(baseline, other_chip).has_value());

  CHECK_FALSE(objective->Evaluate(baseline, Timed({{1}})).has_value());
  CHECK_FALSE(objective->Evaluate(baseline, Timed({{1}, {}})).has_value());
  CHECK_FALSE(objective->Evaluate(baseline, Timed({{1}, {0}})).has_value());
  CHECK_FALSE(objective->Evaluate(Timed({}), Timed({})).has_value());
}

TEST_CASE("RooflineFraction is the geometric mean of floor over time") {
  Evaluation evaluation = Timed({{4}, {1}});
  CHECK_FALSE(RooflineFraction(evaluation).has_value());
  evaluation.cases[0].floor_seconds = 1;
  evaluation.cases[1].floor_seconds = 1;
  REQUIRE(RooflineFraction(evaluation).has_value());
  CHECK(*RooflineFraction(evaluation) == Approx(0.5));
}

}  // namespace
}  // namespace maxkernel
