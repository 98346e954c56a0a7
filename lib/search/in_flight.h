#ifndef MAXKERNEL_LIB_SEARCH_IN_FLIGHT_H_
#define MAXKERNEL_LIB_SEARCH_IN_FLIGHT_H_

#include <cstddef>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "maxkernel/decision.h"
#include "maxkernel/internal/strings.h"
#include "maxkernel/search_graph.h"

namespace maxkernel {

// Counts of work in flight. RunState drives it by dispatch and settle events alone, so that nothing can leak: all are 0 when a run is
// idle. Coordinator thread only.
class InFlight final : public InFlightView {
 public:
  void OpenOrder(const ExpandOrder& order);
  void CloseOrder(const ExpandOrder& order);
  void BeginProposal(std::string_view model);
  void EndProposal(std::string_view model);
  void BeginEvaluation() { ++evaluations_; }
  void EndEvaluation() { --evaluations_; }
  void BeginWaiting() { ++waiting_; }
  void EndWaiting() { --waiting_; }

  std::size_t proposals() const override { return proposals_; }
  std::size_t evaluations() const override { return evaluations_; }
  std::size_t waiting_evaluations() const override { return waiting_; }
  std::size_t orders_on(NodeId first_parent) const override;
  std::size_t orders_on_branch(std::string_view branch) const override;
  std::size_t proposals_with_model(std::string_view model) const override;

 private:
  std::size_t proposals_ = 0;
  std::size_t evaluations_ = 0;
  std::size_t waiting_ = 0;
  absl::flat_hash_map<NodeId, std::size_t> by_node_;
  internal::StringMap<std::size_t> by_branch_;
  internal::StringMap<std::size_t> by_model_;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_SEARCH_IN_FLIGHT_H_
