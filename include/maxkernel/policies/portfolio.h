#ifndef MAXKERNEL_POLICIES_PORTFOLIO_H_
#define MAXKERNEL_POLICIES_PORTFOLIO_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/expansion_policy.h"

namespace maxkernel {

// Several expansion policies as one. An order that names an operator goes to the member that has it; any other goes to a member drawn
// with equal chances, and on to the next one if that has nothing left to try. Exhausted when all members are.
// InvalidArgument if there is no member or two members have an operator in common.
absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakePortfolio(std::vector<std::unique_ptr<ExpansionPolicy>> members);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_PORTFOLIO_H_
