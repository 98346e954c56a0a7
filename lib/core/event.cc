#include "maxkernel/event.h"

#include "maxkernel/search_graph.h"

namespace maxkernel {

std::string_view ToString(Settle settle) {
  switch (settle) {
    case Settle::kOk:
      return "ok";
    case Settle::kCandidateFailed:
      return "candidate_failed";
    case Settle::kInfrastructureFailed:
      return "infrastructure_failed";
    case Settle::kCancelled:
      return "cancelled";
    case Settle::kLost:
      return "lost";
    case Settle::kDuplicate:
      return "duplicate";
  }
  return "unknown";
}

std::string_view ToString(EvaluationPurpose purpose) {
  switch (purpose) {
    case EvaluationPurpose::kScore:
      return "score";
    case EvaluationPurpose::kConfirm:
      return "confirm";
    case EvaluationPurpose::kOrder:
      return "order";
  }
  return "unknown";
}

std::string_view ToString(NodeState state) {
  switch (state) {
    case NodeState::kPending:
      return "pending";
    case NodeState::kEvaluating:
      return "evaluating";
    case NodeState::kValid:
      return "valid";
    case NodeState::kUnscored:
      return "unscored";
    case NodeState::kFailed:
      return "failed";
    case NodeState::kBroken:
      return "broken";
    case NodeState::kVetoed:
      return "vetoed";
  }
  return "unknown";
}

std::string_view EventName(const EventBody& body) {
  struct Namer {
    std::string_view operator()(const RunStarted&) { return "run_started"; }
    std::string_view operator()(const RunResumed&) { return "run_resumed"; }
    std::string_view operator()(const RunEnded&) { return "run_ended"; }
    std::string_view operator()(const DecisionMade&) { return "decision_made"; }
    std::string_view operator()(const ProposalDispatched&) { return "proposal_dispatched"; }
    std::string_view operator()(const ProposalFinished&) { return "proposal_finished"; }
    std::string_view operator()(const NodeAdded&) { return "node_added"; }
    std::string_view operator()(const DuplicateDetected&) { return "duplicate_detected"; }
    std::string_view operator()(const EvaluationDispatched&) { return "evaluation_dispatched"; }
    std::string_view operator()(const EvaluationFinished&) { return "evaluation_finished"; }
    std::string_view operator()(const OrderSettled&) { return "order_settled"; }
    std::string_view operator()(const Relabelled&) { return "relabelled"; }
    std::string_view operator()(const NewChampion&) { return "new_champion"; }
    std::string_view operator()(const LateResult&) { return "late_result"; }
    std::string_view operator()(const PolicyFault&) { return "policy_fault"; }
    std::string_view operator()(const StopRequested&) { return "stop_requested"; }
    std::string_view operator()(const Paused&) { return "paused"; }
    std::string_view operator()(const Unpaused&) { return "unpaused"; }
    std::string_view operator()(const NodeVetoed&) { return "node_vetoed"; }
    std::string_view operator()(const BudgetChanged&) { return "budget_changed"; }
    std::string_view operator()(const HintAdded&) { return "hint_added"; }
  };
  return std::visit(Namer{}, body);
}

}  // namespace maxkernel
