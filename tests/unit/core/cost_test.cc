#include "maxkernel/cost.h"

#include <catch2/catch.hpp>

namespace maxkernel {
namespace {

TEST_CASE("BudgetView counts what is spent, reserved and asked for") {
  BudgetView view;
  view.limits.evaluations = 10;
  view.spent.evaluations = 6;
  view.reserved.evaluations = 3;
  Cost one;
  one.evaluations = 1;
  CHECK(view.Allows(one));
  view.reserved.evaluations = 4;
  std::string limit;
  CHECK_FALSE(view.Allows(one, &limit));
  CHECK(limit == "evaluations");
}

TEST_CASE("BudgetView names the limit that stands in the way") {
  const auto limit_of = [](BudgetView view, Cost cost) {
    std::string limit;
    return view.Allows(cost, &limit) ? std::string("none") : limit;
  };
  Cost cost;
  cost.input_tokens = 60;
  cost.output_tokens = 50;
  cost.microdollars = 7;
  cost.nodes = 1;
  cost.device_time = absl::Seconds(2);
  BudgetView view;
  CHECK(limit_of(view, cost) == "none");
  view.limits.tokens = 100;
  CHECK(limit_of(view, cost) == "tokens");
  view.limits.tokens = 110;
  view.limits.microdollars = 6;
  CHECK(limit_of(view, cost) == "money");
  view.limits.microdollars.reset();
  view.limits.nodes = 0;
  CHECK(limit_of(view, cost) == "nodes");
  view.limits.nodes.reset();
  view.limits.device_time = absl::Seconds(1);
  CHECK(limit_of(view, cost) == "device time");
  view.limits.device_time.reset();
  view.limits.wall_time = absl::Seconds(5);
  view.wall_time = absl::Seconds(5);
  CHECK(limit_of(view, cost) == "wall time");
  view.limits.nodes = 0;
  CHECK(limit_of(view, cost) == "wall time");
}

TEST_CASE("Cost adds and subtracts field by field") {
  Cost cost;
  cost.input_tokens = 1;
  cost.cached_input_tokens = 2;
  cost.output_tokens = 3;
  cost.microdollars = 4;
  cost.evaluations = 5;
  cost.nodes = 6;
  cost.device_time = absl::Seconds(7);
  Cost sum = cost;
  sum += cost;
  CHECK(sum.device_time == absl::Seconds(14));
  CHECK(sum.output_tokens == 6);
  sum -= cost;
  CHECK(sum == cost);
}

}  // namespace
}  // namespace maxkernel
