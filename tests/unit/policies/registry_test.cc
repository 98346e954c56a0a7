#include <catch2/catch.hpp>

#include "maxkernel/policies/builtin_policies.h"

namespace maxkernel {
namespace {

using Catch::Matchers::Contains;

class Registry {
 public:
  Registry() { REQUIRE(RegisterBuiltinPolicies(registry_).ok()); }

  std::string Selection(std::string_view text) { return Message(registry_.MakeSelection(*PolicySpec::Parse(text))); }
  std::string Expansion(std::string_view text) { return Message(registry_.MakeExpansion(*PolicySpec::Parse(text))); }
  std::string Stop(std::string_view text) { return Message(registry_.MakeStop(*PolicySpec::Parse(text))); }
  PolicyRegistry& registry() { return registry_; }

 private:
  template <typename Policy>
  static std::string Message(const absl::StatusOr<std::unique_ptr<Policy>>& made) {
    return made.ok() ? "ok" : std::string(made.status().message());
  }
  PolicyRegistry registry_;
};

TEST_CASE("every built-in policy can be made from its name, or says what it needs") {
  Registry registry;
  for (const auto& [name, help] : registry.registry().selections()) CHECK(registry.Selection(name) == "ok");
  CHECK(registry.Expansion("autotune") == "ok");
  CHECK_THAT(registry.Expansion("script"), Contains("no command"));
  CHECK_THAT(registry.Expansion("portfolio"), Contains("no members"));
  CHECK(registry.Stop("patience") == "ok");
  CHECK_THAT(registry.Stop("target"), Contains("target: score is 0"));
  CHECK_THAT(registry.Stop("any"), Contains("no rules"));
}

TEST_CASE("options are read") {
  Registry registry;
  CHECK(registry.Selection("best_first(max_in_flight_per_node=3, max_children_per_node=4, penalty=0.5, operator=autotune)") == "ok");
  CHECK(registry.Selection("beam(width=4, branches=2, depth=8, keep_factor=1.1)") == "ok");
  CHECK(registry.Selection("random(max_children_per_node=3)") == "ok");
  CHECK(registry.Expansion("autotune(method=random)") == "ok");
  CHECK(registry.Expansion("script(command=\"cat -n\")") == "ok");
  CHECK(registry.Expansion("portfolio(members=\"autotune; script(command=cat)\", weights=\"2, 1\", schedule=random)") == "ok");
  CHECK(registry.Stop("any(rules=\"patience(orders=3); target(score=2)\")") == "ok");
}

TEST_CASE("a wrong option is an error that names it") {
  Registry registry;
  CHECK_THAT(registry.Selection("beam(widht=4)"), Contains("'widht'") && Contains("did you mean 'width'?"));
  CHECK_THAT(registry.Selection("best_first(penalty=-1)"), Contains("penalty"));
  CHECK_THAT(registry.Expansion("autotune(method=best)"), Contains("exhaustive | random | neighbour"));
  CHECK_THAT(registry.Expansion("portfolio(members=\"autotune; autotune\")"), Contains("both have the operator 'autotune'"));
  CHECK_THAT(registry.Expansion("portfolio(members=autotune, weights=\"1, 2\")"), Contains("2 weights for 1 members"));
  CHECK_THAT(registry.Expansion("portfolio(members=autotune, weights=x)"), Contains("'x'"));
  CHECK_THAT(registry.Expansion("portfolio(members=autotune, weights=0)"), Contains("above 0"));
  CHECK_THAT(registry.Expansion("portfolio(members=autotun)"), Contains("autotune"));
}

}  // namespace
}  // namespace maxkernel
