#include "maxkernel/store/event_json.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/store/event_equality.h"
#include "tests/unit/store/random_events.h"

namespace maxkernel {
namespace {

using Catch::Matchers::Contains;

class Names {
 public:
  template <typename T>
  using Ref = T&;
  template <typename T>
  void operator()(std::string_view name, T&) {
    names.emplace(name);
  }
  std::set<std::string> names;
};

template <typename T>
void CheckAllListed() {
  T value;
  Names collector;
  store::Fields(collector, value);
  INFO(typeid(T).name());
  CHECK(collector.names.size() == std::tuple_size_v<decltype(Members(value))>);
}

template <std::size_t... Index>
void CheckAllEventsListed(std::index_sequence<Index...>) {
  (CheckAllListed<std::variant_alternative_t<Index, EventBody>>(), ...);
}

// Gives the candidate of the event itself, so that pointers compare equal.
auto CandidateOf(const Event& event) {
  return [&event](const std::string& hash) -> absl::StatusOr<std::shared_ptr<const Candidate>> {
    const auto* added = std::get_if<NodeAdded>(&event.body);
    if (added == nullptr || added->candidate->content_hash() != hash) return absl::NotFoundError("no such candidate");
    return added->candidate;
  };
}

absl::StatusOr<Event> Parse(std::string_view json) {
  return EventFromJson(json, [](const std::string& hash) -> absl::StatusOr<std::shared_ptr<const Candidate>> {
    return absl::NotFoundError("no candidate " + hash);
  });
}

std::string Message(std::string_view json, absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  const absl::StatusOr<Event> event = Parse(json);
  INFO(json);
  CHECK(event.status().code() == code);
  return std::string(event.status().message());
}

std::string Envelope(const std::string& name, const std::string& rest) {
  return R"({"sequence":3,"time_ns":0,"event":")" + name + "\"" + rest + "}";
}

TEST_CASE("Every member of every event and value is written") {
  CheckAllEventsListed(std::make_index_sequence<std::variant_size_v<EventBody>>());
  CheckAllListed<Cost>();
  CheckAllListed<Budget>();
  CheckAllListed<Score>();
  CheckAllListed<Diagnostic>();
  CheckAllListed<StageReport>();
  CheckAllListed<CaseResult>();
  CheckAllListed<Evaluation>();
  CheckAllListed<ExpandOrder>();
  CheckAllListed<EvaluateOrder>();
  CheckAllListed<CancelOrder>();
  CheckAllListed<RelabelOrder>();
  CheckAllListed<Decision>();
  CheckAllListed<SlotCounts>();
}

TEST_CASE("Random events read back exactly") {
  std::set<std::size_t> kinds;
  for (std::uint64_t sequence = 1; sequence <= 3000; ++sequence) {
    const Event event = RandomEvent(sequence);
    kinds.insert(event.body.index());
    const std::string json = EventToJson(event);
    const absl::StatusOr<Event> back = EventFromJson(json, CandidateOf(event));
    INFO(json);
    REQUIRE(back.status() == absl::OkStatus());
    REQUIRE(Equal(event, *back));
    REQUIRE(EventToJson(*back) == json);
    REQUIRE(json.find('\n') == std::string::npos);
  }
  CHECK(kinds.size() == std::variant_size_v<EventBody>);
}

TEST_CASE("Members may come in any order") {
  const auto event = Parse(R"({"text":"use bfloat16","event":"hint_added","sequence":3,"time_ns":1500.25})");
  REQUIRE(event.ok());
  CHECK(std::get<HintAdded>(event->body).text == "use bfloat16");
  CHECK(event->time == absl::UnixEpoch() + absl::Nanoseconds(1500) + absl::Nanoseconds(1) / 4);
}

TEST_CASE("What is wrong with an event is named") {
  CHECK(Message(Envelope("hint_addd", ""), absl::StatusCode::kFailedPrecondition) ==
        "unknown event 'hint_addd'; did you mean 'hint_added'?; a newer version of maxkernel may have written it");
  CHECK(Message(Envelope("hint_added", "")) == "event hint_added: field text: is missing");
  CHECK(Message(Envelope("hint_added", R"(,"text":5)")) == "event hint_added: field text: expected a string, got a number '5'");
  CHECK(Message(Envelope("hint_added", R"(,"text":"a","txt":"b")")) ==
        "event hint_added: field txt: is not known; did you mean 'text'?");
  CHECK(Message(Envelope("hint_added", R"(,"text":"a","text":"b")")) == "event hint_added: field text: is given twice");
  CHECK(Message(Envelope("new_champion", R"(,"node":1,"score":{"value":1,"low":"x","high":1,"fidelity":"cpu"})")) ==
        "event new_champion: field score.low: expected a number, got a string 'x'");
  CHECK(Message(Envelope("new_champion", R"(,"node":1,"score":{"value":1,"low":1,"high":1,"fidelity":"tpu"})")) ==
        "event new_champion: field score.fidelity: expected one of interpret, lower, aot, estimate, cpu, device, got a string 'tpu'");
  CHECK(Message(Envelope("run_resumed", R"(,"orphans":[1,2.5])")) ==
        "event run_resumed: field orphans[1]: expected an integer from 0 to 18446744073709551615, got a number '2.5'");
  CHECK(Message(Envelope("order_settled", R"(,"decision":1,"order_index":4294967296)")) ==
        "event order_settled: field order_index: expected an integer from 0 to 4294967295, got a number '4294967296'");
  CHECK(Message(Envelope("decision_made", R"(,"decision":1,"answer":{"kind":"orders","orders":[{"kind":"dance"}]})")) ==
        "event decision_made: field answer.orders[0].kind: expected one of expand, evaluate, cancel, relabel, got 'dance'");
  CHECK(Message(R"({"sequence":-1,"time_ns":0,"event":"paused"})") ==
        "field sequence: expected an integer from 0 to 18446744073709551615, got a number '-1'");
  CHECK(Message("[]") == "expected an object");
  CHECK_THAT(Message(R"({"sequence":3)"), Contains("byte 13: expected ',' or '}'"));
  CHECK_THAT(Message(Envelope("run_started", R"(,"seed":1,"budget":{"wall_time_ns":1.3},"specification":"")")),
             Contains("field budget.wall_time_ns: expected a number of nanoseconds"));
}

TEST_CASE("An unknown candidate is the finder's error") {
  Event event = RandomEvent(1);
  NodeAdded added;
  added.candidate = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", "x = 1"));
  event.body = added;
  CHECK(Parse(EventToJson(event)).status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("Numbers that JSON cannot hold count as absent") {
  Evaluation evaluation;
  CaseResult result;
  result.max_abs_error = std::numeric_limits<double>::infinity();
  result.max_rel_error = 0.5;
  result.samples_seconds = {1.0, std::nan(""), 2.0};
  result.facts = {{"bad", -std::numeric_limits<double>::infinity()}, {"good", 3}};
  evaluation.cases = {result};
  const std::string json = EvaluationToJson(evaluation);
  CHECK(json.find("inf") == std::string::npos);
  CHECK(json.find("nan") == std::string::npos);
  const absl::StatusOr<Evaluation> back = EvaluationFromJson(json);
  REQUIRE(back.ok());
  CHECK_FALSE(back->cases[0].max_abs_error.has_value());
  CHECK(back->cases[0].max_rel_error == 0.5);
  CHECK(back->cases[0].samples_seconds == std::vector<double>{1.0, 2.0});
  CHECK(back->cases[0].facts == std::map<std::string, double>{{"good", 3}});
}

TEST_CASE("Evaluations read back, and their text is UTF-8 whatever they held") {
  KeyedRandom random(3, RandomStream::kSimulator, 1);
  RandomFiller filler(random);
  Evaluation evaluation;
  for (int i = 0; i < 200; ++i) {
    filler.Fill(evaluation);
    const absl::StatusOr<Evaluation> once = EvaluationFromJson(EvaluationToJson(evaluation));
    REQUIRE(once.ok());
    const absl::StatusOr<Evaluation> twice = EvaluationFromJson(EvaluationToJson(*once));
    REQUIRE(twice.ok());
    CHECK(*once == *twice);
  }
  evaluation.reason = "bad \xff byte";
  CHECK(EvaluationFromJson(EvaluationToJson(evaluation))->reason == "bad \xEF\xBF\xBD byte");
}

}  // namespace
}  // namespace maxkernel
