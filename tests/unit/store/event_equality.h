#ifndef MAXKERNEL_TESTS_UNIT_STORE_EVENT_EQUALITY_H_
#define MAXKERNEL_TESTS_UNIT_STORE_EVENT_EQUALITY_H_

#include <tuple>
#include <type_traits>
#include <variant>

#include "maxkernel/event.h"

namespace maxkernel {

// All members of a struct. The structured bindings stop compiling when a member is added: then add it here and to Fields.
inline auto Members(const Cost& v) { const auto& [a, b, c, d, e, f, g] = v; return std::tie(a, b, c, d, e, f, g); }
inline auto Members(const Budget& v) { const auto& [a, b, c, d, e, f] = v; return std::tie(a, b, c, d, e, f); }
inline auto Members(const Score& v) { const auto& [a, b, c, d] = v; return std::tie(a, b, c, d); }
inline auto Members(const Diagnostic& v) { const auto& [a, b, c, d, e, f, g] = v; return std::tie(a, b, c, d, e, f, g); }
inline auto Members(const StageReport& v) { const auto& [a, b, c, d] = v; return std::tie(a, b, c, d); }
inline auto Members(const CaseResult& v) { const auto& [a, b, c, d, e, f, g, h] = v; return std::tie(a, b, c, d, e, f, g, h); }
inline auto Members(const Evaluation& v) {
  const auto& [a, b, c, d, e, f, g, h, i, j] = v;
  return std::tie(a, b, c, d, e, f, g, h, i, j);
}
inline auto Members(const ExpandOrder& v) { const auto& [a, b, c, d, e, f] = v; return std::tie(a, b, c, d, e, f); }
inline auto Members(const EvaluateOrder& v) { const auto& [a, b, c, d] = v; return std::tie(a, b, c, d); }
inline auto Members(const CancelOrder& v) { const auto& [a] = v; return std::tie(a); }
inline auto Members(const RelabelOrder& v) { const auto& [a, b, c] = v; return std::tie(a, b, c); }
inline auto Members(const Decision& v) { const auto& [a, b, c, d] = v; return std::tie(a, b, c, d); }
inline auto Members(const SlotCounts& v) { const auto& [a, b] = v; return std::tie(a, b); }
inline auto Members(const RunStarted& v) { const auto& [a, b, c] = v; return std::tie(a, b, c); }
inline auto Members(const RunResumed& v) { const auto& [a] = v; return std::tie(a); }
inline auto Members(const RunEnded& v) { const auto& [a, b] = v; return std::tie(a, b); }
inline auto Members(const DecisionMade& v) { const auto& [a, b, c] = v; return std::tie(a, b, c); }
inline auto Members(const ProposalDispatched& v) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k] = v;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k);
}
inline auto Members(const ProposalFinished& v) { const auto& [a, b, c, d, e, f] = v; return std::tie(a, b, c, d, e, f); }
inline auto Members(const NodeAdded& v) {
  const auto& [a, b, c, d, e, f, g, h, i] = v;
  return std::tie(a, b, c, d, e, f, g, h, i);
}
inline auto Members(const DuplicateDetected& v) { const auto& [a, b] = v; return std::tie(a, b); }
inline auto Members(const EvaluationDispatched& v) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k] = v;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k);
}
inline auto Members(const EvaluationFinished& v) { const auto& [a, b, c, d, e, f, g, h] = v; return std::tie(a, b, c, d, e, f, g, h); }
inline auto Members(const OrderSettled& v) { const auto& [a, b, c, d, e] = v; return std::tie(a, b, c, d, e); }
inline auto Members(const Relabelled& v) { const auto& [a, b, c] = v; return std::tie(a, b, c); }
inline auto Members(const NewChampion& v) { const auto& [a, b] = v; return std::tie(a, b); }
inline auto Members(const LateResult& v) { const auto& [a, b, c] = v; return std::tie(a, b, c); }
inline auto Members(const PolicyFault& v) { const auto& [a, b] = v; return std::tie(a, b); }
inline auto Members(const StopRequested& v) { const auto& [a, b] = v; return std::tie(a, b); }
inline auto Members(const Paused&) { return std::tie(); }
inline auto Members(const Unpaused&) { return std::tie(); }
inline auto Members(const NodeVetoed& v) { const auto& [a, b, c] = v; return std::tie(a, b, c); }
inline auto Members(const BudgetChanged& v) { const auto& [a] = v; return std::tie(a); }
inline auto Members(const HintAdded& v) { const auto& [a] = v; return std::tie(a); }

// Candidates are equal if they are the same object.
inline bool Equal(const Event& a, const Event& b) {
  if (a.sequence != b.sequence || a.time != b.time || a.body.index() != b.body.index()) return false;
  return std::visit(
      [&](const auto& left) { return Members(left) == Members(std::get<std::decay_t<decltype(left)>>(b.body)); }, a.body);
}

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTS_UNIT_STORE_EVENT_EQUALITY_H_
