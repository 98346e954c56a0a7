#ifndef MAXKERNEL_LIB_SEARCH_POLICY_HOST_H_
#define MAXKERNEL_LIB_SEARCH_POLICY_HOST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/event.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/selection_policy.h"
#include "maxkernel/stop_policy.h"

namespace maxkernel {

inline constexpr char kSelectionPolicy[] = "selection policy";
inline constexpr char kExpansionPolicy[] = "expansion policy";
inline constexpr char kStopPolicy[] = "stop policy";

// Owns the policies and is the one place that calls them, so that an exception or an impossible answer becomes a value. A component that
// has failed is not called again.
// Coordinator thread only.
class PolicyHost {
 public:
  PolicyHost(std::unique_ptr<StopPolicy> stop, std::unique_ptr<SelectionPolicy> selection,
             std::unique_ptr<ExpansionPolicy> expansion);

  void set_seed(std::uint64_t seed) { seed_ = seed; }
  void Silence(const std::string& component) { silent_.insert(component); }

  // Tells stop, selection and expansion policy, in this order. Returns what failed.
  std::vector<PolicyFault> Deliver(const Event& event, const GraphView& graph);

  // Internal if the policy threw or its answer is impossible.
  absl::StatusOr<Decision> Select(const SelectArgs& args);
  absl::StatusOr<std::optional<ProposeRequest>> Prepare(const PrepareArgs& args);
  absl::StatusOr<StopVerdict> Check(const StopArgs& args);
  bool has_stop_policy() const { return stop_ != nullptr && !silent_.contains(kStopPolicy); }
  // Null if the policy threw.
  Proposer* proposer() { return proposer_; }
  // The error, if there is no proposer.
  absl::Status FindProposer();

 private:
  template <typename Policy>
  void DeliverTo(Policy* policy, const char* component, const OnEventArgs& args, std::vector<PolicyFault>& faults);

  std::unique_ptr<StopPolicy> stop_;
  std::unique_ptr<SelectionPolicy> selection_;
  std::unique_ptr<ExpansionPolicy> expansion_;
  Proposer* proposer_ = nullptr;
  std::set<std::string> silent_;
  std::uint64_t seed_ = 0;
};

// Limits that keep a sample's random numbers apart from those of any other: see SampleAddress.
inline constexpr std::uint32_t kMaximumOrders = 4096;
inline constexpr std::uint32_t kMaximumSamples = 4096;
std::uint64_t SampleAddress(DecisionId decision, std::uint32_t order_index, std::uint32_t sample);

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_SEARCH_POLICY_HOST_H_
