#include "tests/unit/search/search_harness.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"

namespace maxkernel {
namespace {

struct WorkHistory {
  int dispatched = 0;
  int finished = 0;
  int late = 0;
};

struct JournalReader {
  std::map<WorkId, WorkHistory> works;
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> orders;  // settlements
  std::set<std::string> contents;
  int ended = 0;

  void operator()(const ProposalDispatched& event) { ++works[event.work].dispatched; }
  void operator()(const EvaluationDispatched& event) { ++works[event.work].dispatched; }
  void operator()(const ProposalFinished& event) { ++works[event.work].finished; }
  void operator()(const EvaluationFinished& event) { ++works[event.work].finished; }
  void operator()(const LateResult& event) {
    CHECK(works[event.work].finished == 1);
    ++works[event.work].late;
  }
  void operator()(const DecisionMade& event) {
    for (std::uint32_t i = 0; i < event.answer.orders.size(); ++i) orders[{ToNumber(event.decision), i}] = 0;
  }
  void operator()(const OrderSettled& event) {
    const auto found = orders.find({ToNumber(event.decision), event.order_index});
    REQUIRE(found != orders.end());
    ++found->second;
  }
  void operator()(const NodeAdded& event) { CHECK(contents.insert(event.candidate->content_hash()).second); }
  void operator()(const RunEnded&) { ++ended; }
  template <typename Other>
  void operator()(const Other&) {}
};

struct Printer {
  std::string text;

  void Add(const Cost& cost) {
    absl::StrAppend(&text, " {", cost.input_tokens, ",", cost.output_tokens, ",", cost.microdollars, ",", cost.evaluations, ",",
                    cost.nodes, "}");
  }
  void Add(const std::vector<NodeId>& nodes) {
    for (NodeId node : nodes) absl::StrAppend(&text, " ", ToString(node));
  }
  void Add(const Parameters& parameters) {
    for (const auto& [name, value] : parameters) absl::StrAppend(&text, " ", name, "=", value);
  }

  void operator()(const DecisionMade& event) {
    absl::StrAppend(&text, ToNumber(event.decision), " ", static_cast<int>(event.answer.kind), " ", event.answer.why, " ",
                    event.answer.orders.size(), " ", event.free.expand, " ", event.free.evaluate);
  }
  void operator()(const ProposalDispatched& event) {
    absl::StrAppend(&text, ToNumber(event.work), " ", ToNumber(event.decision), " ", event.order_index, " ", event.sample, " ",
                    event.attempt, " ", event.operator_name);
    Add(event.parents);
    Add(event.parameters);
    Add(event.reserve);
  }
  void operator()(const ProposalFinished& event) {
    absl::StrAppend(&text, ToNumber(event.work), " ", std::string(ToString(event.settle)), " ", event.detail, " ",
                    absl::FormatDuration(event.duration));
    Add(event.cost);
  }
  void operator()(const NodeAdded& event) {
    absl::StrAppend(&text, ToString(event.node), " ", event.candidate->content_hash(), " ", event.operator_name, " ",
                    event.rationale);
    Add(event.parents);
    Add(event.tunables);
  }
  void operator()(const DuplicateDetected& event) { absl::StrAppend(&text, ToNumber(event.work), " ", ToString(event.existing)); }
  void operator()(const EvaluationDispatched& event) {
    absl::StrAppend(&text, ToNumber(event.work), " ", ToString(event.node), " ", event.attempt, " ", event.idempotency_key);
  }
  void operator()(const EvaluationFinished& event) {
    absl::StrAppend(&text, ToNumber(event.work), " ", std::string(ToString(event.settle)), " ", event.detail, " ",
                    event.score.has_value() ? event.score->value : -1, " ", absl::FormatDuration(event.duration));
  }
  void operator()(const OrderSettled& event) {
    absl::StrAppend(&text, ToNumber(event.decision), " ", event.order_index, " ", std::string(ToString(event.settle)), " ",
                    event.exhausted);
    Add(event.children);
  }
  void operator()(const NewChampion& event) { absl::StrAppend(&text, ToString(event.node)); }
  void operator()(const RunEnded& event) { absl::StrAppend(&text, event.reason); }
  void operator()(const StopRequested& event) { absl::StrAppend(&text, event.reason); }
  template <typename Other>
  void operator()(const Other&) {}
};

}  // namespace

void CheckJournal(const GroupJournal& journal) {
  JournalReader reader;
  for (const Event& event : journal.events()) std::visit(reader, event.body);
  for (const auto& [work, history] : reader.works) {
    INFO("work " << ToNumber(work));
    CHECK(history.dispatched == 1);
    CHECK(history.finished == 1);
    CHECK(history.late <= 1);
  }
  for (const auto& [order, settlements] : reader.orders) {
    INFO("order " << order.second << " of decision " << order.first);
    CHECK(settlements == 1);
  }
  CHECK(reader.ended == 1);
}

std::string TextOf(const Event& event) {
  Printer printer;
  printer.text = absl::StrCat(ToNumber(event.sequence), " ", absl::ToUnixNanos(event.time), " ",
                              std::string(EventName(event.body)), " ");
  std::visit(printer, event.body);
  return printer.text;
}

}  // namespace maxkernel
