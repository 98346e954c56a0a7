#ifndef MAXKERNEL_POLICIES_PORTFOLIO_H_
#define MAXKERNEL_POLICIES_PORTFOLIO_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/policy_registry.h"
#include "maxkernel/policy_spec.h"

namespace maxkernel {

struct PortfolioMember {
  std::unique_ptr<ExpansionPolicy> policy;
  double weight = 1;
};

struct PortfolioOptions {
  enum class Schedule : std::uint8_t {
    kRoundRobin,  // in turn, as often as the weights say over time
    kRandom,      // drawn with the weights
  };
  Schedule schedule = Schedule::kRoundRobin;
};

// Several expansion policies as one. An order that names an operator goes to the member that has it; any other goes to the member whose
// turn it is, or to the next one if that has nothing left for the order's parents. InvalidArgument for no members, a weight that is
// not above 0, or an operator that two members have.
absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakePortfolio(std::vector<PortfolioMember> members,
                                                               const PortfolioOptions& options = {});
// portfolio(members="llm_edit; autotune(method=random)", weights="3, 1", schedule=round_robin | random). Members are made by `registry`.
absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakePortfolio(const PolicySpec& spec, const PolicyRegistry& registry);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_PORTFOLIO_H_
