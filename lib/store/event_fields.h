// The fields of everything that is kept as JSON, in the order in which they are written: one list for writing, reading and naming.
//
// An archive is called as archive("name", member). Archive::Ref<T> is `const T&` for one that writes and `T&` for one that reads.
#ifndef MAXKERNEL_LIB_STORE_EVENT_FIELDS_H_
#define MAXKERNEL_LIB_STORE_EVENT_FIELDS_H_

#include <array>
#include <string_view>

#include "maxkernel/event.h"

namespace maxkernel::store {

std::string_view NameOf(Decision::Kind kind);
std::string_view NameOf(RelabelOrder::Mode mode);
std::string_view NameOf(StopRequested::Mode mode);
inline std::string_view NameOf(Fidelity value) { return ToString(value); }
inline std::string_view NameOf(Stage value) { return ToString(value); }
inline std::string_view NameOf(StageStatus value) { return ToString(value); }
inline std::string_view NameOf(Verdict value) { return ToString(value); }
inline std::string_view NameOf(Severity value) { return ToString(value); }
inline std::string_view NameOf(Settle value) { return ToString(value); }
inline std::string_view NameOf(EvaluationPurpose value) { return ToString(value); }

template <typename Enum>
inline constexpr int kValuesOf = 0;
template <>
inline constexpr std::array kValuesOf<Decision::Kind>{Decision::Kind::kOrders, Decision::Kind::kWait, Decision::Kind::kExhausted};
template <>
inline constexpr std::array kValuesOf<RelabelOrder::Mode>{RelabelOrder::Mode::kMove, RelabelOrder::Mode::kCopy};
template <>
inline constexpr std::array kValuesOf<StopRequested::Mode>{StopRequested::Mode::kDrain, StopRequested::Mode::kCancel};
template <>
inline constexpr std::array kValuesOf<Fidelity>{Fidelity::kInterpret, Fidelity::kLower, Fidelity::kAot,
                                                Fidelity::kEstimate,  Fidelity::kCpu,   Fidelity::kDevice};
template <>
inline constexpr std::array kValuesOf<Stage>{Stage::kValidate, Stage::kCompile, Stage::kTest, Stage::kMeasure, Stage::kProfile};
template <>
inline constexpr std::array kValuesOf<StageStatus>{StageStatus::kPassed, StageStatus::kFailed, StageStatus::kSkipped};
template <>
inline constexpr std::array kValuesOf<Verdict>{Verdict::kCorrect, Verdict::kIncorrect, Verdict::kDoesNotCompile,
                                               Verdict::kCrashed, Verdict::kTimedOut,  Verdict::kRejected};
template <>
inline constexpr std::array kValuesOf<Severity>{Severity::kError, Severity::kWarning, Severity::kNote};
template <>
inline constexpr std::array kValuesOf<Settle>{Settle::kOk,        Settle::kCandidateFailed, Settle::kInfrastructureFailed,
                                              Settle::kCancelled, Settle::kLost,            Settle::kDuplicate};
template <>
inline constexpr std::array kValuesOf<EvaluationPurpose>{EvaluationPurpose::kScore, EvaluationPurpose::kConfirm,
                                                         EvaluationPurpose::kOrder};

// The "kind" of an order, by its index in the variant.
inline constexpr std::array<std::string_view, 4> kOrderKinds{"expand", "evaluate", "cancel", "relabel"};
static_assert(std::variant_size_v<Order> == kOrderKinds.size());

template <typename Archive, typename T>
using Ref = typename Archive::template Ref<T>;

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, Cost> value) {
  archive("input_tokens", value.input_tokens);
  archive("cached_input_tokens", value.cached_input_tokens);
  archive("output_tokens", value.output_tokens);
  archive("microdollars", value.microdollars);
  archive("evaluations", value.evaluations);
  archive("nodes", value.nodes);
  archive("device_time_ns", value.device_time);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, Budget> value) {
  archive("tokens", value.tokens);
  archive("microdollars", value.microdollars);
  archive("evaluations", value.evaluations);
  archive("nodes", value.nodes);
  archive("device_time_ns", value.device_time);
  archive("wall_time_ns", value.wall_time);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, Score> value) {
  archive("value", value.value);
  archive("low", value.low);
  archive("high", value.high);
  archive("fidelity", value.fidelity);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, Diagnostic> value) {
  archive("severity", value.severity);
  archive("class_name", value.class_name);
  archive("message", value.message);
  archive("file", value.file);
  archive("line", value.line);
  archive("case_name", value.case_name);
  archive("hint", value.hint);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, StageReport> value) {
  archive("stage", value.stage);
  archive("status", value.status);
  archive("duration_ns", value.duration);
  archive("diagnostics", value.diagnostics);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, CaseResult> value) {
  archive("name", value.name);
  archive("hidden", value.hidden);
  archive("max_abs_error", value.max_abs_error);
  archive("max_rel_error", value.max_rel_error);
  archive("samples_seconds", value.samples_seconds);
  archive("floor_seconds", value.floor_seconds);
  archive("absent", value.absent);
  archive("facts", value.facts);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, Evaluation> value) {
  archive("fidelity", value.fidelity);
  archive("verdict", value.verdict);
  archive("reason", value.reason);
  archive("stages", value.stages);
  archive("cases", value.cases);
  archive("identity", value.identity);
  archive("environment", value.environment);
  archive("facts", value.facts);
  archive("device_time_ns", value.device_time);
  archive("from_cache", value.from_cache);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, ExpandOrder> value) {
  archive("parents", value.parents);
  archive("operator_name", value.operator_name);
  archive("branch", value.branch);
  archive("model", value.model);
  archive("samples", value.samples);
  archive("parameters", value.parameters);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, EvaluateOrder> value) {
  archive("node", value.node);
  archive("fidelity", value.fidelity);
  archive("repeats", value.repeats);
  archive("paired", value.paired);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, CancelOrder> value) {
  archive("work", value.work);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, RelabelOrder> value) {
  archive("node", value.node);
  archive("branch", value.branch);
  archive("mode", value.mode);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, Decision> value) {
  archive("kind", value.kind);
  archive("orders", value.orders);
  archive("why", value.why);
  archive("trace", value.trace);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, SlotCounts> value) {
  archive("expand", value.expand);
  archive("evaluate", value.evaluate);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, RunStarted> value) {
  archive("seed", value.seed);
  archive("budget", value.budget);
  archive("specification", value.specification);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, RunResumed> value) {
  archive("orphans", value.orphans);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, RunEnded> value) {
  archive("reason", value.reason);
  archive("best", value.best);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, DecisionMade> value) {
  archive("decision", value.decision);
  archive("answer", value.answer);
  archive("free", value.free);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, ProposalDispatched> value) {
  archive("work", value.work);
  archive("decision", value.decision);
  archive("order_index", value.order_index);
  archive("sample", value.sample);
  archive("attempt", value.attempt);
  archive("parents", value.parents);
  archive("operator_name", value.operator_name);
  archive("branch", value.branch);
  archive("model", value.model);
  archive("parameters", value.parameters);
  archive("reserve", value.reserve);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, ProposalFinished> value) {
  archive("work", value.work);
  archive("settle", value.settle);
  archive("cost", value.cost);
  archive("duration_ns", value.duration);
  archive("detail", value.detail);
  archive("notes", value.notes);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, NodeAdded> value) {
  archive("node", value.node);
  archive("parents", value.parents);
  archive("operator_name", value.operator_name);
  archive("branch", value.branch);
  archive("model", value.model);
  archive("rationale", value.rationale);
  archive("tunables", value.tunables);
  archive("work", value.work);
  archive("candidate", value.candidate);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, DuplicateDetected> value) {
  archive("work", value.work);
  archive("existing", value.existing);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, EvaluationDispatched> value) {
  archive("work", value.work);
  archive("node", value.node);
  archive("fidelity", value.fidelity);
  archive("repeats", value.repeats);
  archive("purpose", value.purpose);
  archive("decision", value.decision);
  archive("order_index", value.order_index);
  archive("attempt", value.attempt);
  archive("paired", value.paired);
  archive("idempotency_key", value.idempotency_key);
  archive("reserve", value.reserve);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, EvaluationFinished> value) {
  archive("work", value.work);
  archive("node", value.node);
  archive("settle", value.settle);
  archive("evaluation", value.evaluation);
  archive("score", value.score);
  archive("cost", value.cost);
  archive("duration_ns", value.duration);
  archive("detail", value.detail);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, OrderSettled> value) {
  archive("decision", value.decision);
  archive("order_index", value.order_index);
  archive("settle", value.settle);
  archive("children", value.children);
  archive("exhausted", value.exhausted);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, Relabelled> value) {
  archive("node", value.node);
  archive("branch", value.branch);
  archive("mode", value.mode);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, NewChampion> value) {
  archive("node", value.node);
  archive("score", value.score);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, LateResult> value) {
  archive("work", value.work);
  archive("cost", value.cost);
  archive("detail", value.detail);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, PolicyFault> value) {
  archive("component", value.component);
  archive("detail", value.detail);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, StopRequested> value) {
  archive("mode", value.mode);
  archive("reason", value.reason);
}

template <typename Archive>
void Fields(Archive&, Ref<Archive, Paused>) {}

template <typename Archive>
void Fields(Archive&, Ref<Archive, Unpaused>) {}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, NodeVetoed> value) {
  archive("node", value.node);
  archive("subtree", value.subtree);
  archive("reason", value.reason);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, BudgetChanged> value) {
  archive("budget", value.budget);
}

template <typename Archive>
void Fields(Archive& archive, Ref<Archive, HintAdded> value) {
  archive("text", value.text);
}

}  // namespace maxkernel::store

#endif  // MAXKERNEL_LIB_STORE_EVENT_FIELDS_H_
