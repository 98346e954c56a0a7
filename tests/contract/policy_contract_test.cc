// The contract suites on every built-in implementation, and on broken ones: a suite that finds nothing wrong with those is worthless.
#include <catch2/catch.hpp>

#include "maxkernel/journal.h"
#include "maxkernel/policies/builtin_policies.h"
#include "maxkernel/testing/contract.h"
#include "maxkernel/testing/fake_evaluator.h"
#include "maxkernel/testing/fake_expansion.h"
#include "maxkernel/testing/simulation.h"

namespace maxkernel {
namespace {

using Violations = std::vector<std::string>;

class Registry {
 public:
  Registry() { REQUIRE(RegisterBuiltinPolicies(registry_).ok()); }
  std::function<std::unique_ptr<SelectionPolicy>()> Selection(std::string text) {
    return [this, text] { return *registry_.MakeSelection(*PolicySpec::Parse(text)); };
  }
  std::function<std::unique_ptr<ExpansionPolicy>()> Expansion(std::string text) {
    return [this, text] { return *registry_.MakeExpansion(*PolicySpec::Parse(text)); };
  }
  std::function<std::unique_ptr<StopPolicy>()> Stop(std::string text) {
    return [this, text] { return *registry_.MakeStop(*PolicySpec::Parse(text)); };
  }

 private:
  PolicyRegistry registry_;
};

bool Mentions(const Violations& violations, const std::string& text) {
  for (const std::string& violation : violations) {
    if (violation.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("built-in selection policies keep the contract") {
  Registry registry;
  for (const char* spec : {"best_first", "best_first(max_in_flight_per_node=1, max_children_per_node=3, penalty=0.1)", "beam",
                           "beam(width=4, branches=3, depth=10, keep_factor=0.9)", "random", "random(max_children_per_node=2)"}) {
    INFO(spec);
    CHECK(CheckSelectionContract(registry.Selection(spec)) == Violations{});
  }
}

std::shared_ptr<const Candidate> Tunable() {
  return std::make_shared<const Candidate>(
      *Candidate::FromText("kernel.py", "A = 1  # tunable: 1, 2, 3, 4\nB = 1  # tunable: 1, 2, 3\nC = True  # tunable: True, False\n"));
}

TEST_CASE("built-in expansion policies keep the contract") {
  Registry registry;
  const std::string script =
      "script(command=\"sed -n s/.*/{\\\"files\\\":[{\\\"path\\\":\\\"k.py\\\",\\\"text\\\":\\\"x\\\"}]}/p\")";
  const std::vector<std::string> specs = {"autotune", "autotune(method=random)", "autotune(method=neighbour)", script,
                                          "portfolio(members=\"autotune; script(command=cat)\", schedule=random)"};
  for (const std::string& spec : specs) {
    INFO(spec);
    CHECK(CheckExpansionContract(registry.Expansion(spec), {Tunable()}) == Violations{});
  }
}

TEST_CASE("built-in stop policies keep the contract") {
  Registry registry;
  for (const char* spec : {"patience(orders=5)", "target(score=1.2)", "any(rules=\"patience(orders=9); target(score=3)\")"}) {
    INFO(spec);
    CHECK(CheckStopContract(registry.Stop(spec)) == Violations{});
  }
}

TEST_CASE("the memory journal keeps the contract") { CHECK(CheckJournalContract(MakeMemoryJournal) == Violations{}); }

TEST_CASE("the simulated evaluator keeps the contract") {
  const Landscape landscape = *Landscape::Create({.bits = 8, .noise = 0.1});
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(landscape, {});
  EvaluatorContractOptions options;
  options.correct = std::make_shared<const Candidate>(landscape.CandidateOf(3));
  options.wrong = Tunable();
  CHECK(CheckEvaluatorContract(*evaluator, options) == Violations{});
}

TEST_CASE("the simulated expansion keeps the contract") {
  const Landscape landscape = *Landscape::Create({.bits = 8});
  CHECK(CheckExpansionContract([&] { return MakeSimulatedExpansion(landscape, {}); },
                               {std::make_shared<const Candidate>(landscape.CandidateOf(0))}) == Violations{});
}

// One short run is enough to find these.
const SelectionContractOptions kBrief{{1}, absl::InfiniteDuration()};

TEST_CASE("a selection policy that is not pure is found out") {
  const auto make = [] {
    FakeSelectionFunctions functions;
    auto calls = std::make_shared<std::uint32_t>(0);
    functions.select = [calls](const SelectArgs&) {
      ExpandOrder order;
      order.parents = {kRootNode};
      order.samples = 1 + (*calls)++ % 3;
      return Decision::Orders({order}, "");
    };
    return MakeFakeSelection(functions);
  };
  CHECK(Mentions(CheckSelectionContract(make, kBrief), "answers differently when asked twice"));
}

TEST_CASE("a selection policy that keeps state between objects is found out") {
  auto shared = std::make_shared<std::uint32_t>(0);
  const auto make = [shared] {
    FakeSelectionFunctions functions;
    functions.on_event = [shared](const OnEventArgs&) { ++*shared; };
    functions.select = [shared](const SelectArgs&) {
      ExpandOrder order;
      order.parents = {kRootNode};
      order.samples = 1 + *shared % 3;
      return Decision::Orders({order}, "");
    };
    return MakeFakeSelection(functions);
  };
  CHECK(Mentions(CheckSelectionContract(make, kBrief), "a fresh policy that was told the same events answers differently"));
}

TEST_CASE("a selection policy that waits for ever, throws or expands what was vetoed is found out") {
  const auto make = [](std::function<Decision(const SelectArgs&)> select) {
    return [select] { return MakeFakeSelection({select, {}}); };
  };
  CHECK(Mentions(CheckSelectionContract(make([](const SelectArgs&) { return Decision::Wait("for ever"); }), kBrief), "stuck"));
  CHECK(Mentions(CheckSelectionContract(make([](const SelectArgs&) -> Decision { throw std::runtime_error("boom"); }), kBrief), "boom"));
  const auto root = make([](const SelectArgs&) {
    ExpandOrder order;
    order.parents = {kRootNode};
    return Decision::Orders({order}, "");
  });
  CHECK(Mentions(CheckSelectionContract(root, kBrief), "which a person has vetoed"));
}

TEST_CASE("a slow selection policy is found out") {
  const auto make = [] {
    FakeSelectionFunctions functions;
    functions.select = [](const SelectArgs& args) {
      double sum = 0;
      for (NodeId a : args.graph.ranked()) {
        for (std::size_t i = 0; i < 10; ++i) sum += args.graph.node(a).score->value * static_cast<double>(i);
      }
      return sum < 0 ? Decision::Exhausted("") : Decision::Exhausted("never mind");
    };
    return MakeFakeSelection(functions);
  };
  CHECK(Mentions(CheckSelectionContract(make, {{}, absl::Microseconds(10)}), "on a graph of 10,000 nodes"));
}

TEST_CASE("broken expansion policies are found out") {
  const auto baseline = Tunable();
  const auto check = [&](FakeExpansionFunctions functions) {
    return CheckExpansionContract([functions] { return MakeFakeExpansion(functions); }, {baseline});
  };
  FakeExpansionFunctions echo;
  echo.propose = [](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    ProposeResult result;
    result.proposals.push_back({args.request.parents.front().candidate, "", {}});
    return result;
  };
  CHECK(Mentions(check(echo), "its own parent"));
  FakeExpansionFunctions nothing;
  nothing.propose = [](const ProposeArgs&) -> absl::StatusOr<ProposeResult> { return ProposeResult{}; };
  CHECK(Mentions(check(nothing), "neither a proposal nor a failure"));
  FakeExpansionFunctions foreign;
  foreign.prepare = [](const PrepareArgs&) -> std::optional<ProposeRequest> {
    ProposeRequest request;
    request.operator_name = "other";
    return request;
  };
  CHECK(Mentions(check(foreign), "not among operators()"));
  FakeExpansionFunctions impure;
  auto calls = std::make_shared<int>(0);
  impure.prepare = [calls](const PrepareArgs&) -> std::optional<ProposeRequest> {
    ProposeRequest request;
    request.operator_name = "fake";
    request.payload = std::to_string((*calls)++);
    return request;
  };
  CHECK(Mentions(check(impure), "Prepare answers differently"));
}

TEST_CASE("broken evaluators are found out") {
  EvaluatorContractOptions options;
  options.correct = std::make_shared<const Candidate>(*Candidate::FromText("k.py", "good"));
  options.wrong = std::make_shared<const Candidate>(*Candidate::FromText("k.py", "bad"));
  FakeEvaluator all_good([](const EvaluateArgs&) { return MakeTimedEvaluation({1}); });
  CHECK(Mentions(CheckEvaluatorContract(all_good, options), "the wrong candidate is correct"));
  FakeEvaluator blames([](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
    if (args.request.candidate->entry().text == "bad") return absl::InternalError("it crashed");
    return MakeTimedEvaluation({0});
  });
  const Violations violations = CheckEvaluatorContract(blames, options);
  CHECK(Mentions(violations, "a status instead of a verdict"));
  CHECK(Mentions(violations, "a time of 0 s"));
}

class ForgetfulJournal final : public Journal {
 public:
  absl::Status Append(std::span<const Event> events) override {
    return inner_->Append(events);
  }
  absl::Status ForEach(const std::function<absl::Status(const Event&)>& visit) override {
    return inner_->ForEach([&](const Event& event) {
      Event changed = event;
      if (auto* finished = std::get_if<EvaluationFinished>(&changed.body)) finished->detail.clear();
      return visit(changed);
    });
  }
  ReplyLog& replies() override { return inner_->replies(); }

 private:
  std::unique_ptr<Journal> inner_ = MakeMemoryJournal();
};

TEST_CASE("a journal that loses a field is found out") {
  CHECK(Mentions(CheckJournalContract([] { return std::make_unique<ForgetfulJournal>(); }), "instead of"));
}

}  // namespace
}  // namespace maxkernel
