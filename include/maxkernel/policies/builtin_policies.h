#ifndef MAXKERNEL_POLICIES_BUILTIN_POLICIES_H_
#define MAXKERNEL_POLICIES_BUILTIN_POLICIES_H_

#include "absl/status/status.h"
#include "maxkernel/policy_registry.h"

namespace maxkernel {

// Adds what this library has: selections random, best_first and beam; expansions autotune, script and portfolio; stops patience, target
// and any. Each has an options struct and a factory of its own in maxkernel/policies/. portfolio and any look their members up in
// `registry`, which therefore must not move.
absl::Status RegisterBuiltinPolicies(PolicyRegistry& registry);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_BUILTIN_POLICIES_H_
