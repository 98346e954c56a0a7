#ifndef MAXKERNEL_POLICIES_BEST_FIRST_H_
#define MAXKERNEL_POLICIES_BEST_FIRST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "maxkernel/policy_spec.h"
#include "maxkernel/selection_policy.h"

namespace maxkernel {

struct BestFirstOptions {
  std::uint32_t max_in_flight_per_node = 2;              // orders at once on one node
  std::optional<std::uint32_t> max_children_per_node;    // orders ever on one node, settled or not; nullopt: no limit
  double penalty = 0;                                    // taken off a node's score for every order on it, settled or not
  std::string operator_name;                             // of all orders; empty: the expansion policy chooses

  absl::Status Validate() const;
};

// Expands the valid node with the highest score less penalty x orders, ties by lower id, among those that are below their limits and not
// exhausted for the operator. Exhausted when no node is left and nothing is in flight. O(log nodes + orders in flight) per decision.
absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeBestFirst(const BestFirstOptions& options);
// best_first(max_in_flight_per_node=2, max_children_per_node=0, penalty=0, operator=""); 0 children mean no limit.
absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeBestFirst(const PolicySpec& spec);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_BEST_FIRST_H_
