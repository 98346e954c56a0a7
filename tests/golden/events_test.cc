// The journal's events as an earlier version wrote them. The files are never edited: a format that grows gets a file of its own, and the
// old ones must still read.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "maxkernel/store/event_json.h"
#include "maxkernel/store/sqlite_journal.h"
#include "tests/unit/store/event_equality.h"
#include "tests/unit/store/temporary_folder.h"

namespace maxkernel {
namespace {

std::vector<std::string> Lines(const std::string& name) {
  std::ifstream stream(std::string(MAXKERNEL_SOURCE_FOLDER) + "/tests/golden/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::shared_ptr<const Candidate> Baseline() {
  static const auto* const kBaseline =
      new std::shared_ptr<const Candidate>(std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", "def computation(x):\n    return x\n")));
  return *kBaseline;
}

Cost SomeCost() { return {1200, 800, 350, 4321, 1, 1, absl::Milliseconds(1500)}; }

Budget SomeBudget() { return {1'000'000, 5'000'000, 200, 100, absl::Minutes(10), absl::InfiniteDuration()}; }

Evaluation SomeEvaluation() {
  Evaluation evaluation;
  evaluation.fidelity = Fidelity::kEstimate;
  evaluation.verdict = Verdict::kIncorrect;
  evaluation.reason = "case square: 3 elements differ";
  evaluation.stages = {{Stage::kValidate, StageStatus::kPassed, absl::Milliseconds(12), {}},
                       {Stage::kTest,
                        StageStatus::kFailed,
                        absl::Microseconds(2500),
                        {{Severity::kError, "mismatch", "max error 0.5 > 0.01", "kernel.py", 12, "square", "check the last block"},
                         {Severity::kNote, "unused", "\"x\" is unused\n\tin line 3", "", std::nullopt, "", ""}}}};
  evaluation.cases = {{"square", false, 0.5, 0.25, {1.25e-05, 1.5e-05}, 1e-05, "", {{"hbm_bytes", 8388608}}},
                      {"ragged", true, std::nullopt, std::nullopt, {}, std::nullopt, "hidden cases are not timed", {}}};
  evaluation.identity = "0123abcd";
  evaluation.environment = {{"chip", "v6e"}, {"jax", "0.10.2"}};
  evaluation.facts = {{"kernels", 1}, {"small", 5e-324}};
  evaluation.device_time = absl::Seconds(3);
  evaluation.from_cache = true;
  return evaluation;
}

// One of each kind, all fields set.
std::vector<EventBody> Bodies() {
  const Score score{1.5, 1.25, 1.75, Fidelity::kDevice};
  ExpandOrder expand{{NodeId{0}, NodeId{4}}, "llm_edit", "island 2", "model-a", 3, {{"strategy", "tile \"K\""}}};
  Decision decision = Decision::Orders({expand, EvaluateOrder{NodeId{4}, Fidelity::kCpu, 7, NodeId{0}}, CancelOrder{WorkId{8}},
                                        RelabelOrder{NodeId{4}, "island 1", RelabelOrder::Mode::kCopy}},
                                       "beam of 4");
  decision.trace = {{"depth", "2"}};
  return {RunStarted{18446744073709551615U, SomeBudget(), R"({"task":"tasks/softmax"})"},
          RunResumed{{WorkId{3}, WorkId{4}}},
          RunEnded{"budget: evaluations", NodeId{7}},
          DecisionMade{DecisionId{1}, decision, SlotCounts{8, 2}},
          ProposalDispatched{WorkId{1}, DecisionId{1}, 0, 2, 1, {NodeId{0}}, "llm_edit", "island 2", "model-a", {{"temperature", "0.7"}}, SomeCost()},
          ProposalFinished{WorkId{1}, Settle::kCandidateFailed, SomeCost(), absl::Nanoseconds(12345), "edit block 2 matches nothing", {{"strategy", "2"}}},
          NodeAdded{NodeId{0}, {NodeId{1}, NodeId{2}}, "crossover", "", "model-b", "Fuse both \xF0\x9F\x9A\x80", {{"BLOCK", "128"}}, WorkId{5}, Baseline()},
          DuplicateDetected{WorkId{6}, NodeId{2}},
          EvaluationDispatched{WorkId{7}, NodeId{2}, Fidelity::kAot, 5, EvaluationPurpose::kConfirm, DecisionId{3}, 1, 2, NodeId{0}, "run/7", SomeCost()},
          EvaluationFinished{WorkId{7}, NodeId{2}, Settle::kOk, SomeEvaluation(), score, SomeCost(), absl::Seconds(2), "bytes \xFF"},
          OrderSettled{DecisionId{3}, 1, Settle::kInfrastructureFailed, {NodeId{5}, NodeId{6}}, true},
          Relabelled{NodeId{5}, "island 3", RelabelOrder::Mode::kMove},
          NewChampion{NodeId{5}, score},
          LateResult{WorkId{9}, SomeCost(), "after its deadline"},
          PolicyFault{"selection policy beam", "width is 0"},
          StopRequested{StopRequested::Mode::kCancel, "interrupted"},
          Paused{},
          Unpaused{},
          NodeVetoed{NodeId{6}, true, "reads out of bounds"},
          BudgetChanged{SomeBudget()},
          HintAdded{"try bfloat16"}};
}

std::vector<Event> Events() {
  std::vector<Event> events;
  for (EventBody& body : Bodies()) {
    const auto sequence = static_cast<std::int64_t>(events.size() + 1);
    events.push_back({EventSequence{static_cast<std::uint64_t>(sequence)},
                      absl::FromUnixSeconds(1'800'000'000) + absl::Nanoseconds(sequence) + absl::Nanoseconds(1) / 4 * (sequence % 4), std::move(body)});
  }
  return events;
}

absl::StatusOr<std::shared_ptr<const Candidate>> FindCandidate(const std::string& hash) {
  if (hash != Baseline()->content_hash()) return absl::NotFoundError(hash);
  return Baseline();
}

TEST_CASE("Events of version 1 read as they were meant") {
  const std::vector<std::string> lines = Lines("events.v1.jsonl");
  const std::vector<Event> expected = Events();
  REQUIRE(lines.size() == expected.size());
  std::set<std::size_t> kinds;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    INFO(lines[i]);
    const absl::StatusOr<Event> event = EventFromJson(lines[i], FindCandidate);
    REQUIRE(event.status() == absl::OkStatus());
    CHECK(Equal(*event, expected[i]));
    kinds.insert(event->body.index());
  }
  CHECK(kinds.size() == std::variant_size_v<EventBody>);
}

TEST_CASE("Events are written as version 1 wrote them") {
  const std::vector<std::string> lines = Lines("events.v1.jsonl");
  const std::vector<Event> events = Events();
  REQUIRE(lines.size() == events.size());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(EventToJson(events[i]) == lines[i]);
}

// The file is what sqlite3's .dump made of a journal that version 1 wrote.
TEST_CASE("A journal of version 1 opens, reads and goes on") {
  const TemporaryFolder folder;
  std::ifstream stream(std::string(MAXKERNEL_SOURCE_FOLDER) + "/tests/golden/journal.v1.sql");
  const std::string sql{std::istreambuf_iterator<char>(stream), {}};
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open((folder / "run.db").c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  std::vector<std::string> expected = Lines("events.v1.jsonl");
  for (const auto mode : {SqliteJournalOptions::Mode::kReadOnly, SqliteJournalOptions::Mode::kWrite}) {
    absl::StatusOr<std::unique_ptr<Journal>> journal = OpenSqliteJournal(folder / "run.db", {mode});
    REQUIRE(journal.status() == absl::OkStatus());
    std::vector<std::string> lines;
    REQUIRE((*journal)->ForEach([&](const Event& event) {
      lines.push_back(EventToJson(event));
      return absl::OkStatus();
    }).ok());
    CHECK(lines == expected);
    CHECK(*(*journal)->replies().Find("1/0/2#0") == R"({"text":"reply"})");
    if (mode == SqliteJournalOptions::Mode::kWrite) {
      CHECK((*journal)->Append(std::vector<Event>{{EventSequence{expected.size() + 1}, absl::UnixEpoch(), Paused{}}}).ok());
    }
  }
}

}  // namespace
}  // namespace maxkernel
