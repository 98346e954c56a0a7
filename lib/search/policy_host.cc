#include "lib/search/policy_host.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "lib/search/user_code.h"

namespace maxkernel {
namespace {

absl::Status CheckNode(NodeId node, const GraphView& graph) {
  if (ToNumber(node) < graph.size()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("names node ", ToString(node), ", which is not in the graph"));
}

absl::Status CheckOrder(const Order& order, const GraphView& graph) {
  if (const auto* expand = std::get_if<ExpandOrder>(&order)) {
    if (expand->samples == 0 || expand->samples > kMaximumSamples) {
      return absl::InternalError(absl::StrCat("asks for ", expand->samples, " samples; expected 1..", kMaximumSamples));
    }
    for (NodeId parent : expand->parents) {
      if (absl::Status status = CheckNode(parent, graph); !status.ok()) return status;
    }
  } else if (const auto* evaluate = std::get_if<EvaluateOrder>(&order)) {
    if (evaluate->repeats == 0) return absl::InternalError("asks for 0 repeats; expected at least 1");
    if (absl::Status status = CheckNode(evaluate->node, graph); !status.ok()) return status;
    if (evaluate->paired.has_value()) return CheckNode(*evaluate->paired, graph);
  } else if (const auto* relabel = std::get_if<RelabelOrder>(&order)) {
    return CheckNode(relabel->node, graph);
  }
  return absl::OkStatus();
}

absl::Status CheckDecision(const Decision& decision, const GraphView& graph) {
  const bool has_orders = !decision.orders.empty();
  if (has_orders != (decision.kind == Decision::Kind::kOrders)) {
    return absl::InternalError(has_orders ? "orders come with an answer other than kOrders" : "the answer kOrders has no orders");
  }
  if (decision.orders.size() > kMaximumOrders) {
    return absl::InternalError(absl::StrCat(decision.orders.size(), " orders; at most ", kMaximumOrders, " are possible"));
  }
  for (std::size_t i = 0; i < decision.orders.size(); ++i) {
    if (absl::Status status = CheckOrder(decision.orders[i], graph); !status.ok()) {
      return absl::InternalError(absl::StrCat("order ", i, " ", std::string(status.message())));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::uint64_t SampleAddress(DecisionId decision, std::uint32_t order_index, std::uint32_t sample) {
  return (ToNumber(decision) * kMaximumOrders + order_index) * kMaximumSamples + sample;
}

PolicyHost::PolicyHost(std::unique_ptr<StopPolicy> stop, std::unique_ptr<SelectionPolicy> selection,
                       std::unique_ptr<ExpansionPolicy> expansion)
    : stop_(std::move(stop)), selection_(std::move(selection)), expansion_(std::move(expansion)) {}

template <typename Policy>
void PolicyHost::DeliverTo(Policy* policy, const char* component, const OnEventArgs& args, std::vector<PolicyFault>& faults) {
  if (policy == nullptr || silent_.contains(component)) return;
  const absl::Status status = CallUserCode(component, [&] {
    policy->OnEvent(args);
    return absl::OkStatus();
  });
  if (status.ok()) return;
  Silence(component);
  faults.push_back({component, absl::StrCat(std::string(status.message()), " (in OnEvent of event ",
                                            ToNumber(args.event.sequence), ", ", std::string(EventName(args.event.body)), ")")});
}

std::vector<PolicyFault> PolicyHost::Deliver(const Event& event, const GraphView& graph) {
  std::vector<PolicyFault> faults;
  const OnEventArgs args{event, graph, KeyedRandom(seed_, RandomStream::kOnEvent, ToNumber(event.sequence))};
  DeliverTo(stop_.get(), kStopPolicy, args, faults);
  DeliverTo(selection_.get(), kSelectionPolicy, args, faults);
  DeliverTo(expansion_.get(), kExpansionPolicy, args, faults);
  return faults;
}

absl::StatusOr<Decision> PolicyHost::Select(const SelectArgs& args) {
  absl::StatusOr<Decision> decision =
      CallUserCode(kSelectionPolicy, [&]() -> absl::StatusOr<Decision> { return selection_->Select(args); });
  if (!decision.ok()) return decision.status();
  if (absl::Status status = CheckDecision(*decision, args.graph); !status.ok()) {
    return absl::InternalError(absl::StrCat(kSelectionPolicy, ": ", std::string(status.message())));
  }
  return decision;
}

absl::StatusOr<std::optional<ProposeRequest>> PolicyHost::Prepare(const PrepareArgs& args) {
  return CallUserCode(kExpansionPolicy, [&] { return expansion_->Prepare(args); });
}

absl::StatusOr<StopVerdict> PolicyHost::Check(const StopArgs& args) {
  return CallUserCode(kStopPolicy, [&]() -> absl::StatusOr<StopVerdict> { return stop_->Check(args); });
}

absl::Status PolicyHost::FindProposer() {
  return CallUserCode(kExpansionPolicy, [&] {
    proposer_ = &expansion_->proposer();
    return absl::OkStatus();
  });
}

}  // namespace maxkernel
