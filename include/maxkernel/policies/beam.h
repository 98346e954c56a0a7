#ifndef MAXKERNEL_POLICIES_BEAM_H_
#define MAXKERNEL_POLICIES_BEAM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "maxkernel/policy_spec.h"
#include "maxkernel/selection_policy.h"

namespace maxkernel {

// Defaults as in the reference system's beam search.
struct BeamOptions {
  std::uint32_t width = 2;     // nodes per depth that are expanded
  std::uint32_t branches = 2;  // orders on each of them
  std::uint32_t depth = 2;     // of the deepest nodes that are made; the root's is 0
  // A node comes before all that fail this test: its score exceeds keep_factor times its best parent's. Those that fail it fill up a beam
  // that is not full.
  double keep_factor = 1;
  std::string operator_name;   // of all orders; empty: the expansion policy chooses

  absl::Status Validate() const;
};

// Beam search without barriers: at each depth the `width` best valid nodes so far are members of the beam and get `branches` orders
// each. The next order goes to the member with the fewest orders, ties to the shallower and then to the better one, so no worker waits for
// the last straggler of a level. A node that is overtaken keeps the orders it has and gets no more. Exhausted when every member has
// its orders, or is exhausted for the operator, and nothing is in flight.
absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeBeam(const BeamOptions& options);
// beam(width=2, branches=2, depth=2, keep_factor=1, operator="")
absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeBeam(const PolicySpec& spec);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_BEAM_H_
