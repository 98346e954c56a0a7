// Whole searches with expansion policies and stop rules.
#include <catch2/catch.hpp>
#include <map>

#include "absl/strings/str_cat.h"
#include "maxkernel/policies/builtin_policies.h"
#include "maxkernel/search.h"
#include "maxkernel/testing/fake_evaluator.h"
#include "maxkernel/testing/fake_expansion.h"

namespace maxkernel {
namespace {

using Catch::Matchers::Contains;

struct Setup {
  std::string selection = "best_first";
  std::string expansion = "autotune";
  std::string stop;
  std::string source = "A = 1  # tunable: 1, 2, 3, 4\nB = 1  # tunable: 1, 2, 3\n";
  SearchOptions options;
};

struct Outcome {
  SearchResult result;
  std::vector<ProposalFinished> proposals;
  std::map<std::string, int> operators;  // dispatches
  std::vector<Parameters> parameters;
};

// Fakes that portfolios can be made of: "noop1" and so on, each with an operator of its name.
void RegisterFakes(PolicyRegistry& registry) {
  for (const std::string name : {"noop1", "noop2"}) {
    const absl::Status added = registry.AddExpansion(name, "", [name](const PolicySpec&) -> absl::StatusOr<std::unique_ptr<ExpansionPolicy>> {
      class Named final : public ExpansionPolicy, private Proposer {
       public:
        explicit Named(std::string name) : name_(std::move(name)) {}
        void OnEvent(const OnEventArgs&) override {}
        absl::StatusOr<std::optional<ProposeRequest>> Prepare(const PrepareArgs&) const override {
          ProposeRequest request;
          request.operator_name = name_;
          return request;
        }
        Proposer& proposer() override { return *this; }
        std::vector<std::string> operators() const override { return {name_}; }

       private:
        absl::StatusOr<ProposeResult> Propose(const ProposeArgs& args) override {
          return MakeProposal(absl::StrCat("# ", name_, " ", args.reply_key));
        }
        const std::string name_;
      };
      return std::make_unique<Named>(name);
    });
    REQUIRE(added.ok());
  }
}

Outcome Run(const Setup& setup) {
  PolicyRegistry registry;
  REQUIRE(RegisterBuiltinPolicies(registry).ok());
  RegisterFakes(registry);
  FakeEvaluator evaluator([](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
    return MakeTimedEvaluation({1.0 / static_cast<double>(args.request.candidate->entry().text.size())});
  });
  const std::unique_ptr<Journal> journal = MakeMemoryJournal();
  const std::unique_ptr<Clock> clock = MakeSystemClock();
  SearchParts parts;
  parts.baseline = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", setup.source));
  parts.selection = *registry.MakeSelection(*PolicySpec::Parse(setup.selection));
  auto expansion = registry.MakeExpansion(*PolicySpec::Parse(setup.expansion));
  INFO(expansion.status().ToString());
  REQUIRE(expansion.ok());
  parts.expansion = *std::move(expansion);
  if (!setup.stop.empty()) parts.stop = *registry.MakeStop(*PolicySpec::Parse(setup.stop));
  parts.evaluator = &evaluator;
  parts.journal = journal.get();
  parts.clock = clock.get();
  auto search = Search::Create(setup.options, std::move(parts));
  REQUIRE(search.ok());
  Outcome outcome;
  outcome.result = (*search)->Run();
  REQUIRE(journal
              ->ForEach([&](const Event& event) {
                if (const auto* finished = std::get_if<ProposalFinished>(&event.body)) outcome.proposals.push_back(*finished);
                if (const auto* dispatched = std::get_if<ProposalDispatched>(&event.body)) {
                  ++outcome.operators[dispatched->operator_name];
                  outcome.parameters.push_back(dispatched->parameters);
                }
                return absl::OkStatus();
              })
              .ok());
  return outcome;
}

TEST_CASE("exhaustive tuning visits the points in order, the last tunable fastest") {
  const Outcome outcome = Run({.options = {.expand_workers = 1}});
  REQUIRE(outcome.parameters.size() == 11);
  CHECK(outcome.parameters[0] == Parameters{{"A", "1"}, {"B", "2"}});
  CHECK(outcome.parameters[1] == Parameters{{"A", "1"}, {"B", "3"}});
  CHECK(outcome.parameters[2] == Parameters{{"A", "2"}, {"B", "1"}});
  CHECK(outcome.result.nodes == 12);
}

TEST_CASE("random tuning visits every point once in another order, which the seed decides") {
  const Outcome first = Run({.expansion = "autotune(method=random)", .options = {.seed = 1, .expand_workers = 1}});
  const Outcome second = Run({.expansion = "autotune(method=random)", .options = {.seed = 2, .expand_workers = 1}});
  CHECK(first.result.nodes == 12);
  CHECK(second.result.nodes == 12);
  CHECK(first.parameters != second.parameters);
}

TEST_CASE("a root without tunables says so once and the search ends") {
  const Outcome outcome = Run({.source = "x = 1\n"});
  REQUIRE(outcome.proposals.size() == 1);
  CHECK_THAT(outcome.proposals[0].detail, Contains("kernel.py: no tunable is declared"));
  CHECK_THAT(outcome.result.reason, Contains("exhausted"));
}

TEST_CASE("an ill-formed declaration is one failed proposal that names file and line") {
  const Outcome outcome = Run({.source = "x = 1\nA = 1  # tunable: 2, 3\n"});
  REQUIRE(outcome.proposals.size() == 1);
  CHECK(outcome.proposals[0].settle == Settle::kCandidateFailed);
  CHECK_THAT(outcome.proposals[0].detail, Contains("kernel.py:2: ") && Contains("not among its choices"));
}

TEST_CASE("a portfolio takes turns by weight and goes on when a member is exhausted") {
  Setup setup;
  setup.expansion = "portfolio(members=\"noop1; noop2\", weights=\"3, 1\")";
  setup.options.budget.nodes = 81;
  Outcome outcome = Run(setup);
  CHECK(outcome.operators == std::map<std::string, int>{{"noop1", 60}, {"noop2", 20}});

  setup.expansion = "portfolio(members=\"autotune; noop1\")";
  outcome = Run(setup);
  CHECK(outcome.operators["autotune"] == 11);
  CHECK(outcome.operators["noop1"] >= 69);
}

TEST_CASE("a random portfolio draws by weight") {
  Setup setup;
  setup.expansion = "portfolio(members=\"noop1; noop2\", weights=\"3, 1\", schedule=random)";
  setup.options.budget.nodes = 401;
  const Outcome outcome = Run(setup);
  CHECK(outcome.operators.at("noop1") > 250);
  CHECK(outcome.operators.at("noop2") > 60);
}

TEST_CASE("an order that names an operator goes to the member that has it") {
  Setup setup;
  setup.selection = "random(operator=noop2)";
  setup.expansion = "portfolio(members=\"noop1; noop2\")";
  setup.options.budget.nodes = 21;
  CHECK(Run(setup).operators == std::map<std::string, int>{{"noop2", 20}});
  setup.selection = "random(operator=repair)";
  const Outcome outcome = Run(setup);
  CHECK_THAT(outcome.result.reason, Contains("no member has the operator 'repair'"));
}

TEST_CASE("stop rules end a search with their reasons") {
  Setup setup;
  setup.expansion = "noop1";
  setup.options.expand_workers = 1;
  setup.stop = "patience(orders=7)";
  Outcome outcome = Run(setup);
  // Others may settle in the same turn.
  CHECK_THAT(outcome.result.reason, Contains("patience: ") && Contains(" orders without a new champion"));
  CHECK(outcome.proposals.size() >= 7);
  CHECK(outcome.proposals.size() < 12);
  setup.source = "# 1";
  setup.stop = "target(score=2)";
  outcome = Run(setup);
  CHECK_THAT(outcome.result.reason, Contains("target: n1 has a score of at least"));
  setup.stop = "any(rules=\"target(score=1000); patience(orders=3)\")";
  CHECK_THAT(Run(setup).result.reason, Contains("patience: "));
}

}  // namespace
}  // namespace maxkernel
