#include "maxkernel/policies/beam.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace maxkernel {
namespace {

class Beam final : public SelectionPolicy {
 public:
  explicit Beam(BeamOptions options) : options_(std::move(options)), levels_(options_.depth) {}

  void OnEvent(const OnEventArgs& args) override {
    if (const auto* finished = std::get_if<EvaluationFinished>(&args.event.body)) {
      Refresh(args.graph.node(finished->node), args.graph);
    } else if (std::holds_alternative<NodeVetoed>(args.event.body)) {
      // A subtree may be gone.
      const std::map<NodeId, Rank> before = ranks_;
      for (const auto& [node, rank] : before) Refresh(args.graph.node(node), args.graph);
    } else if (const auto* decision = std::get_if<DecisionMade>(&args.event.body)) {
      open_orders_ += decision->answer.orders.size();
    } else if (std::holds_alternative<OrderSettled>(args.event.body)) {
      --open_orders_;  // this policy gives no orders of another kind
    }
  }

  Decision Select(const SelectArgs& args) const override {
    if (args.free.expand == 0) return Decision::Wait("no free worker for proposals");
    if (const std::optional<NodeId> member = NextMember(args); member.has_value()) {
      ExpandOrder order;
      order.parents = {*member};
      order.operator_name = options_.operator_name;
      return Decision::Orders({std::move(order)}, absl::StrCat(ToString(*member), " has the fewest orders in the beam at depth ",
                                                               args.graph.node(*member).depth));
    }
    if (open_orders_ > 0 || args.in_flight.evaluations() > 0 || args.in_flight.waiting_evaluations() > 0) {
      return Decision::Wait("what is in flight may change the beam");
    }
    return Decision::Exhausted("every member of the beam has its branches");
  }

 private:
  // Ascending: those that pass the test of keep_factor first, then by score, ties by lower id.
  using Rank = std::tuple<bool, double, NodeId>;

  Rank RankOf(const Node& node, const GraphView& graph) const {
    bool fails = false;
    for (NodeId parent : node.parents) {
      const std::optional<Score>& score = graph.node(parent).score;
      fails = fails || (score.has_value() && node.score->value <= options_.keep_factor * score->value);
    }
    return {fails, -node.score->value, node.id};
  }

  void Refresh(const Node& node, const GraphView& graph) {
    if (node.depth >= levels_.size()) return;
    if (const auto before = ranks_.find(node.id); before != ranks_.end()) {
      levels_[node.depth].erase(before->second);
      ranks_.erase(before);
    }
    if (node.state != NodeState::kValid) return;
    const Rank rank = RankOf(node, graph);
    ranks_.emplace(node.id, rank);
    levels_[node.depth].insert(rank);
  }

  std::optional<NodeId> NextMember(const SelectArgs& args) const {
    std::optional<NodeId> best;
    std::size_t fewest = options_.branches;
    for (const std::set<Rank>& level : levels_) {
      std::uint32_t members = 0;
      for (const auto& [fails, score, id] : level) {
        if (members++ == options_.width) break;
        const Node& node = args.graph.node(id);
        const auto& exhausted = node.exhausted_operators;
        if (std::find(exhausted.begin(), exhausted.end(), options_.operator_name) != exhausted.end()) continue;
        const std::size_t orders = node.settled_orders + args.in_flight.orders_on(id);
        if (orders < fewest) {
          fewest = orders;
          best = id;
        }
      }
    }
    return best;
  }

  const BeamOptions options_;
  std::vector<std::set<Rank>> levels_;  // valid nodes by depth
  std::map<NodeId, Rank> ranks_;
  std::size_t open_orders_ = 0;
};

}  // namespace

absl::Status BeamOptions::Validate() const {
  if (width == 0) return absl::InvalidArgumentError("beam: width is 0; expected at least 1");
  if (branches == 0) return absl::InvalidArgumentError("beam: branches is 0; expected at least 1");
  if (depth == 0) return absl::InvalidArgumentError("beam: depth is 0; expected at least 1");
  if (!std::isfinite(keep_factor) || keep_factor < 0) {
    return absl::InvalidArgumentError("beam: keep_factor is not a number of 0 or more");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeBeam(const BeamOptions& options) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  return std::make_unique<Beam>(options);
}

absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeBeam(const PolicySpec& spec) {
  BeamOptions options;
  std::int64_t width = options.width;
  std::int64_t branches = options.branches;
  std::int64_t depth = options.depth;
  OptionReader reader(spec);
  reader.Read("width", "nodes per depth that are expanded", &width, 1, 1024);
  reader.Read("branches", "orders on each of them", &branches, 1, 1024);
  reader.Read("depth", "of the deepest nodes that are made", &depth, 1, 1024);
  reader.Read("keep_factor", "of its parent's score that a node has to exceed to come first", &options.keep_factor, 0, 1e6);
  reader.Read("operator", "of all orders, empty to let the expansion policy choose", &options.operator_name);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  options.width = static_cast<std::uint32_t>(width);
  options.branches = static_cast<std::uint32_t>(branches);
  options.depth = static_cast<std::uint32_t>(depth);
  return MakeBeam(options);
}

}  // namespace maxkernel
