#include "lib/search/in_flight.h"

#include <string>

#include "maxkernel/internal/check.h"

namespace maxkernel {
namespace {

template <typename Map, typename Key>
void Decrement(Map& counts, const Key& key) {
  const auto found = counts.find(key);
  MAXKERNEL_CHECK(found != counts.end() && found->second > 0);
  if (--found->second == 0) counts.erase(found);
}

template <typename Map, typename Key>
std::size_t CountOf(const Map& counts, const Key& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

void InFlight::OpenOrder(const ExpandOrder& order) {
  if (!order.parents.empty()) ++by_node_[order.parents.front()];
  ++by_branch_[order.branch];
}

void InFlight::CloseOrder(const ExpandOrder& order) {
  if (!order.parents.empty()) Decrement(by_node_, order.parents.front());
  Decrement(by_branch_, std::string_view(order.branch));
}

void InFlight::BeginProposal(std::string_view model) {
  ++proposals_;
  ++by_model_[std::string(model)];
}

void InFlight::EndProposal(std::string_view model) {
  --proposals_;
  Decrement(by_model_, model);
}

std::size_t InFlight::orders_on(NodeId first_parent) const { return CountOf(by_node_, first_parent); }
std::size_t InFlight::orders_on_branch(std::string_view branch) const { return CountOf(by_branch_, branch); }
std::size_t InFlight::proposals_with_model(std::string_view model) const { return CountOf(by_model_, model); }

}  // namespace maxkernel
