#ifndef MAXKERNEL_POLICIES_BUILTIN_POLICIES_H_
#define MAXKERNEL_POLICIES_BUILTIN_POLICIES_H_

#include "absl/status/status.h"
#include "maxkernel/policy_registry.h"

namespace maxkernel {

// Adds what this library has: selections random, best_first and beam; expansions autotune and script; stops patience and target.
// Each has an options struct and a factory of its own in maxkernel/policies/.
absl::Status RegisterBuiltinPolicies(PolicyRegistry& registry);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_BUILTIN_POLICIES_H_
