#include "maxkernel/testing/event_text.h"

#include <string_view>

#include "absl/strings/str_cat.h"

namespace maxkernel {
namespace {

// Writes "name=value " for every field of every event.
class Writer {
 public:
  template <typename T>
  void Field(std::string_view name, const T& value) {
    absl::StrAppend(&text_, std::string(name), "=");
    Value(value);
    text_.push_back(' ');
  }
  std::string Take() { return std::move(text_); }

  void operator()(const RunStarted& event) {
    Field("seed", event.seed);
    Field("budget", event.budget);
    Field("specification", event.specification);
  }
  void operator()(const RunResumed& event) { Field("orphans", event.orphans); }
  void operator()(const RunEnded& event) {
    Field("reason", event.reason);
    Field("best", event.best);
  }
  void operator()(const DecisionMade& event) {
    Field("decision", event.decision);
    Field("kind", static_cast<int>(event.answer.kind));
    Field("orders", event.answer.orders);
    Field("why", event.answer.why);
    Field("trace", event.answer.trace);
    Field("free", absl::StrCat(event.free.expand, "/", event.free.evaluate));
  }
  void operator()(const ProposalDispatched& event) {
    Field("work", event.work);
    Field("decision", event.decision);
    Field("order_index", event.order_index);
    Field("sample", event.sample);
    Field("attempt", event.attempt);
    Field("parents", event.parents);
    Field("operator", event.operator_name);
    Field("branch", event.branch);
    Field("model", event.model);
    Field("parameters", event.parameters);
    Field("reserve", event.reserve);
  }
  void operator()(const ProposalFinished& event) {
    Field("work", event.work);
    Field("settle", event.settle);
    Field("cost", event.cost);
    Field("duration", event.duration);
    Field("detail", event.detail);
    Field("notes", event.notes);
  }
  void operator()(const NodeAdded& event) {
    Field("node", event.node);
    Field("parents", event.parents);
    Field("operator", event.operator_name);
    Field("branch", event.branch);
    Field("model", event.model);
    Field("rationale", event.rationale);
    Field("tunables", event.tunables);
    Field("work", event.work);
    for (const SourceFile& file : event.candidate->files()) Field(file.path, file.text);
  }
  void operator()(const DuplicateDetected& event) {
    Field("work", event.work);
    Field("existing", event.existing);
  }
  void operator()(const EvaluationDispatched& event) {
    Field("work", event.work);
    Field("node", event.node);
    Field("fidelity", event.fidelity);
    Field("repeats", event.repeats);
    Field("purpose", event.purpose);
    Field("decision", event.decision);
    Field("order_index", event.order_index);
    Field("attempt", event.attempt);
    Field("paired", event.paired);
    Field("key", event.idempotency_key);
    Field("reserve", event.reserve);
  }
  void operator()(const EvaluationFinished& event) {
    Field("work", event.work);
    Field("node", event.node);
    Field("settle", event.settle);
    Field("evaluation", event.evaluation);
    Field("score", event.score);
    Field("cost", event.cost);
    Field("duration", event.duration);
    Field("detail", event.detail);
  }
  void operator()(const OrderSettled& event) {
    Field("decision", event.decision);
    Field("order_index", event.order_index);
    Field("settle", event.settle);
    Field("children", event.children);
    Field("exhausted", event.exhausted);
  }
  void operator()(const Relabelled& event) {
    Field("node", event.node);
    Field("branch", event.branch);
    Field("mode", static_cast<int>(event.mode));
  }
  void operator()(const NewChampion& event) {
    Field("node", event.node);
    Field("score", event.score);
  }
  void operator()(const LateResult& event) {
    Field("work", event.work);
    Field("cost", event.cost);
    Field("detail", event.detail);
  }
  void operator()(const PolicyFault& event) {
    Field("component", event.component);
    Field("detail", event.detail);
  }
  void operator()(const StopRequested& event) {
    Field("mode", static_cast<int>(event.mode));
    Field("reason", event.reason);
  }
  void operator()(const Paused&) {}
  void operator()(const Unpaused&) {}
  void operator()(const NodeVetoed& event) {
    Field("node", event.node);
    Field("subtree", event.subtree);
    Field("reason", event.reason);
  }
  void operator()(const BudgetChanged& event) { Field("budget", event.budget); }
  void operator()(const HintAdded& event) { Field("text", event.text); }

 private:
  void Value(const std::string& text) {
    text_.push_back('"');
    for (char c : text) {
      if (c == '\n') {
        text_ += "\\n";
      } else {
        if (c == '"' || c == '\\') text_.push_back('\\');
        text_.push_back(c);
      }
    }
    text_.push_back('"');
  }
  void Value(std::string_view text) { Value(std::string(text)); }
  void Value(bool value) { text_ += value ? "true" : "false"; }
  void Value(int value) { absl::StrAppend(&text_, value); }
  void Value(std::uint32_t value) { absl::StrAppend(&text_, value); }
  void Value(std::uint64_t value) { absl::StrAppend(&text_, value); }
  void Value(std::int64_t value) { absl::StrAppend(&text_, value); }
  // Enough digits to tell any two values apart.
  void Value(double value) {
    char buffer[40];
    std::snprintf(buffer, sizeof(buffer), "%.17g", value);
    text_ += buffer;
  }
  void Value(absl::Duration value) { absl::StrAppend(&text_, absl::ToInt64Nanoseconds(value), "ns"); }
  void Value(NodeId id) { text_ += ToString(id); }
  void Value(WorkId id) { Value(ToNumber(id)); }
  void Value(DecisionId id) { Value(ToNumber(id)); }
  void Value(Settle settle) { text_ += ToString(settle); }
  void Value(EvaluationPurpose purpose) { text_ += ToString(purpose); }
  void Value(Fidelity fidelity) { text_ += ToString(fidelity); }

  template <typename T>
  void Value(const std::optional<T>& value) {
    if (value.has_value()) {
      Value(*value);
    } else {
      text_ += "none";
    }
  }
  template <typename T>
  void Value(const std::vector<T>& values) {
    text_.push_back('[');
    for (const T& value : values) {
      Value(value);
      text_.push_back(' ');
    }
    text_.push_back(']');
  }
  template <typename T>
  void Value(const std::map<std::string, T>& values) {
    text_.push_back('{');
    for (const auto& [name, value] : values) Field(name, value);
    text_.push_back('}');
  }

  void Value(const Cost& cost) {
    text_.push_back('{');
    Field("input", cost.input_tokens);
    Field("cached", cost.cached_input_tokens);
    Field("output", cost.output_tokens);
    Field("microdollars", cost.microdollars);
    Field("evaluations", cost.evaluations);
    Field("nodes", cost.nodes);
    Field("device", cost.device_time);
    text_.push_back('}');
  }
  void Value(const Budget& budget) {
    text_.push_back('{');
    Field("tokens", budget.tokens);
    Field("microdollars", budget.microdollars);
    Field("evaluations", budget.evaluations);
    Field("nodes", budget.nodes);
    Field("device", budget.device_time);
    Field("wall", budget.wall_time);
    text_.push_back('}');
  }
  void Value(const Score& score) {
    text_.push_back('{');
    Field("value", score.value);
    Field("low", score.low);
    Field("high", score.high);
    Field("fidelity", score.fidelity);
    text_.push_back('}');
  }
  void Value(const Diagnostic& diagnostic) {
    text_.push_back('{');
    Field("severity", ToString(diagnostic.severity));
    Field("class", diagnostic.class_name);
    Field("message", diagnostic.message);
    Field("file", diagnostic.file);
    Field("line", diagnostic.line);
    Field("case", diagnostic.case_name);
    Field("hint", diagnostic.hint);
    text_.push_back('}');
  }
  void Value(const StageReport& stage) {
    text_.push_back('{');
    Field("stage", ToString(stage.stage));
    Field("status", ToString(stage.status));
    Field("duration", stage.duration);
    Field("diagnostics", stage.diagnostics);
    text_.push_back('}');
  }
  void Value(const CaseResult& result) {
    text_.push_back('{');
    Field("name", result.name);
    Field("hidden", result.hidden);
    Field("max_abs_error", result.max_abs_error);
    Field("max_rel_error", result.max_rel_error);
    Field("samples", result.samples_seconds);
    Field("floor", result.floor_seconds);
    Field("absent", result.absent);
    Field("facts", result.facts);
    text_.push_back('}');
  }
  void Value(const Evaluation& evaluation) {
    text_.push_back('{');
    Field("fidelity", evaluation.fidelity);
    Field("verdict", ToString(evaluation.verdict));
    Field("reason", evaluation.reason);
    Field("stages", evaluation.stages);
    Field("cases", evaluation.cases);
    Field("identity", evaluation.identity);
    Field("environment", evaluation.environment);
    Field("facts", evaluation.facts);
    Field("device_time", evaluation.device_time);
    Field("from_cache", evaluation.from_cache);
    text_.push_back('}');
  }
  void Value(const Order& order) {
    text_.push_back('{');
    if (const auto* expand = std::get_if<ExpandOrder>(&order)) {
      Field("parents", expand->parents);
      Field("operator", expand->operator_name);
      Field("branch", expand->branch);
      Field("model", expand->model);
      Field("samples", expand->samples);
      Field("parameters", expand->parameters);
    } else if (const auto* evaluate = std::get_if<EvaluateOrder>(&order)) {
      Field("evaluate", evaluate->node);
      Field("fidelity", evaluate->fidelity);
      Field("repeats", evaluate->repeats);
      Field("paired", evaluate->paired);
    } else if (const auto* cancel = std::get_if<CancelOrder>(&order)) {
      Field("cancel", cancel->work);
    } else if (const auto* relabel = std::get_if<RelabelOrder>(&order)) {
      Field("relabel", relabel->node);
      Field("branch", relabel->branch);
      Field("mode", static_cast<int>(relabel->mode));
    }
    text_.push_back('}');
  }

  std::string text_;
};

}  // namespace

std::string EventText(const Event& event) {
  Writer writer;
  std::visit(writer, event.body);
  return absl::StrCat(ToNumber(event.sequence), " ", absl::ToUnixNanos(event.time), " ", std::string(EventName(event.body)), " ",
                      writer.Take());
}

}  // namespace maxkernel
