#ifndef MAXKERNEL_POLICIES_AUTOTUNE_H_
#define MAXKERNEL_POLICIES_AUTOTUNE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/policy_spec.h"

namespace maxkernel {

struct AutotuneOptions {
  enum class Method : std::uint8_t {
    kExhaustive,  // every combination, in order: the last tunable changes fastest
    kRandom,      // every combination, in random order
    kNeighbour,   // those that differ from the parent in one tunable, by one place in its list of choices: for hill climbing
  };
  Method method = Method::kExhaustive;
};

// The operator "autotune": sets the tunables that the first parent's source declares (tunables.h) to a combination that was not tried
// before in any source that is otherwise the same. Exhausted on a node when none is left. A root without tunables, and a node with an
// ill-formed declaration, give one failed proposal that says so.
absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakeAutotune(const AutotuneOptions& options);
// autotune(method=exhaustive | random | neighbour)
absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakeAutotune(const PolicySpec& spec);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_AUTOTUNE_H_
