#include "maxkernel/policies/best_first.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace maxkernel {
namespace {

class BestFirst final : public SelectionPolicy {
 public:
  explicit BestFirst(BestFirstOptions options) : options_(std::move(options)) {}

  void OnEvent(const OnEventArgs& args) override {
    if (const auto* decision = std::get_if<DecisionMade>(&args.event.body)) {
      NoteOrders(*decision, args.graph);
    } else if (const auto* settled = std::get_if<OrderSettled>(&args.event.body)) {
      NoteSettled(*settled, args.graph);
    } else if (const auto* finished = std::get_if<EvaluationFinished>(&args.event.body)) {
      Refresh(finished->node, args.graph);
    } else if (std::holds_alternative<NodeVetoed>(args.event.body)) {
      // A subtree may be gone.
      const std::map<NodeId, double> before = priorities_;
      for (const auto& [node, priority] : before) Refresh(node, args.graph);
    }
  }

  Decision Select(const SelectArgs& args) const override {
    if (args.free.expand == 0) return Decision::Wait("no free worker for proposals");
    for (const auto& [priority, node] : open_) {
      if (CountOf(node) >= options_.max_in_flight_per_node) continue;
      ExpandOrder order;
      order.parents = {node};
      order.operator_name = options_.operator_name;
      return Decision::Orders({std::move(order)}, absl::StrCat(ToString(node), " has the highest priority, ", -priority));
    }
    if (!open_.empty()) return Decision::Wait("every node has its fill of orders in flight");
    if (!parents_.empty() || args.in_flight.evaluations() > 0 || args.in_flight.waiting_evaluations() > 0) {
      return Decision::Wait("what is in flight may give more nodes");
    }
    return Decision::Exhausted("every valid node is exhausted or has all its children");
  }

 private:
  using OrderKey = std::pair<DecisionId, std::uint32_t>;

  void NoteOrders(const DecisionMade& decision, const GraphView& graph) {
    for (std::uint32_t i = 0; i < decision.answer.orders.size(); ++i) {
      const auto* expand = std::get_if<ExpandOrder>(&decision.answer.orders[i]);
      if (expand == nullptr || expand->parents.empty()) continue;
      parents_[{decision.decision, i}] = expand->parents.front();
      ++in_flight_[expand->parents.front()];
      Refresh(expand->parents.front(), graph);
    }
  }

  void NoteSettled(const OrderSettled& settled, const GraphView& graph) {
    const auto order = parents_.find({settled.decision, settled.order_index});
    if (order == parents_.end()) return;
    const NodeId parent = order->second;
    parents_.erase(order);
    if (--in_flight_[parent] == 0) in_flight_.erase(parent);
    Refresh(parent, graph);
  }

  std::uint32_t CountOf(NodeId node) const {
    const auto found = in_flight_.find(node);
    return found == in_flight_.end() ? 0 : found->second;
  }

  bool IsOpen(const Node& node) const {
    if (node.state != NodeState::kValid) return false;
    const auto& exhausted = node.exhausted_operators;
    if (std::find(exhausted.begin(), exhausted.end(), options_.operator_name) != exhausted.end()) return false;
    return !options_.max_children_per_node.has_value() ||
           node.settled_orders + CountOf(node.id) < *options_.max_children_per_node;
  }

  void Refresh(NodeId id, const GraphView& graph) {
    if (const auto before = priorities_.find(id); before != priorities_.end()) {
      open_.erase({-before->second, id});
      priorities_.erase(before);
    }
    const Node& node = graph.node(id);
    if (!IsOpen(node)) return;
    const double priority = node.score->value - options_.penalty * (node.settled_orders + CountOf(id));
    priorities_.emplace(id, priority);
    open_.emplace(-priority, id);
  }

  const BestFirstOptions options_;
  std::map<OrderKey, NodeId> parents_;           // of orders in flight
  std::map<NodeId, std::uint32_t> in_flight_;    // orders, by parent
  std::map<NodeId, double> priorities_;          // of the nodes in open_
  std::set<std::pair<double, NodeId>> open_;     // best first: priorities are negated
};

}  // namespace

absl::Status BestFirstOptions::Validate() const {
  if (max_in_flight_per_node == 0) return absl::InvalidArgumentError("best_first: max_in_flight_per_node is 0; expected at least 1");
  if (max_children_per_node == 0U) return absl::InvalidArgumentError("best_first: max_children_per_node is 0; expected at least 1");
  if (!std::isfinite(penalty) || penalty < 0) return absl::InvalidArgumentError("best_first: penalty is not a number of 0 or more");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeBestFirst(const BestFirstOptions& options) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  return std::make_unique<BestFirst>(options);
}

absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeBestFirst(const PolicySpec& spec) {
  BestFirstOptions options;
  std::int64_t in_flight = options.max_in_flight_per_node;
  std::int64_t children = 0;
  OptionReader reader(spec);
  reader.Read("max_in_flight_per_node", "orders at once on one node", &in_flight, 1, 1024);
  reader.Read("max_children_per_node", "orders ever on one node, 0 for no limit", &children, 0, 1'000'000);
  reader.Read("penalty", "taken off a score for every order on the node", &options.penalty, 0, 1e9);
  reader.Read("operator", "of all orders, empty to let the expansion policy choose", &options.operator_name);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  options.max_in_flight_per_node = static_cast<std::uint32_t>(in_flight);
  if (children > 0) options.max_children_per_node = static_cast<std::uint32_t>(children);
  return MakeBestFirst(options);
}

}  // namespace maxkernel
