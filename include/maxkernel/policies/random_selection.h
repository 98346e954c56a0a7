#ifndef MAXKERNEL_POLICIES_RANDOM_SELECTION_H_
#define MAXKERNEL_POLICIES_RANDOM_SELECTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "maxkernel/policy_spec.h"
#include "maxkernel/selection_policy.h"

namespace maxkernel {

struct RandomSelectionOptions {
  std::optional<std::uint32_t> max_children_per_node;  // orders ever on one node, settled or not; nullopt: no limit
  std::string operator_name;                           // of all orders; empty: the expansion policy chooses

  absl::Status Validate() const;
};

// Expands a valid node drawn uniformly among those that are below their limit and not exhausted for the operator. The baseline that every
// other policy has to beat. Exhausted when no node is left and nothing is in flight. O(1) expected per decision while many nodes are open.
absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeRandomSelection(const RandomSelectionOptions& options);
// random(max_children_per_node=0, operator=""); 0 children mean no limit.
absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeRandomSelection(const PolicySpec& spec);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_RANDOM_SELECTION_H_
