#include "maxkernel/policies/random_selection.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace maxkernel {
namespace {

class RandomSelection final : public SelectionPolicy {
 public:
  explicit RandomSelection(RandomSelectionOptions options) : options_(std::move(options)) {}

  void OnEvent(const OnEventArgs& args) override {
    if (const auto* decision = std::get_if<DecisionMade>(&args.event.body)) {
      open_orders_ += decision->answer.orders.size();
    } else if (std::holds_alternative<OrderSettled>(args.event.body)) {
      --open_orders_;  // this policy gives no orders of another kind
    }
  }

  Decision Select(const SelectArgs& args) const override {
    if (args.free.expand == 0) return Decision::Wait("no free worker for proposals");
    KeyedRandom random = args.random;
    if (const std::optional<NodeId> node = Draw(args, random); node.has_value()) {
      ExpandOrder order;
      order.parents = {*node};
      order.operator_name = options_.operator_name;
      return Decision::Orders({std::move(order)}, absl::StrCat(ToString(*node), " was drawn"));
    }
    const InFlightView& in_flight = args.in_flight;
    if (open_orders_ > 0 || in_flight.evaluations() > 0 || in_flight.waiting_evaluations() > 0) {
      return Decision::Wait("what is in flight may give more nodes");
    }
    return Decision::Exhausted("every valid node is exhausted or has all its children");
  }

 private:
  // Rejection first: as long as most nodes are open it needs a draw or two. Both ways are uniform.
  std::optional<NodeId> Draw(const SelectArgs& args, KeyedRandom& random) const {
    const std::span<const NodeId> ranked = args.graph.ranked();
    if (ranked.empty()) return std::nullopt;
    for (int attempt = 0; attempt < 16; ++attempt) {
      const NodeId node = ranked[random.NextBelow(static_cast<std::uint32_t>(ranked.size()))];
      if (IsOpen(args, node)) return node;
    }
    std::vector<NodeId> open;
    std::copy_if(ranked.begin(), ranked.end(), std::back_inserter(open), [&](NodeId node) { return IsOpen(args, node); });
    if (open.empty()) return std::nullopt;
    return open[random.NextBelow(static_cast<std::uint32_t>(open.size()))];
  }

  bool IsOpen(const SelectArgs& args, NodeId id) const {
    const Node& node = args.graph.node(id);
    const auto& exhausted = node.exhausted_operators;
    if (std::find(exhausted.begin(), exhausted.end(), options_.operator_name) != exhausted.end()) return false;
    return !options_.max_children_per_node.has_value() ||
           node.settled_orders + args.in_flight.orders_on(id) < *options_.max_children_per_node;
  }

  const RandomSelectionOptions options_;
  std::size_t open_orders_ = 0;
};

}  // namespace

absl::Status RandomSelectionOptions::Validate() const {
  if (max_children_per_node == 0U) return absl::InvalidArgumentError("random: max_children_per_node is 0; expected at least 1");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeRandomSelection(const RandomSelectionOptions& options) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  return std::make_unique<RandomSelection>(options);
}

absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeRandomSelection(const PolicySpec& spec) {
  RandomSelectionOptions options;
  std::int64_t children = 0;
  OptionReader reader(spec);
  reader.Read("max_children_per_node", "orders ever on one node, 0 for no limit", &children, 0, 1'000'000);
  reader.Read("operator", "of all orders, empty to let the expansion policy choose", &options.operator_name);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  if (children > 0) options.max_children_per_node = static_cast<std::uint32_t>(children);
  return MakeRandomSelection(options);
}

}  // namespace maxkernel
