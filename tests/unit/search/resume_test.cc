// Killing a run at any moment loses nothing that was acknowledged.
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "maxkernel/policies/autotune.h"
#include "maxkernel/policies/beam.h"
#include "maxkernel/policies/best_first.h"
#include "maxkernel/policies/random_selection.h"
#include "maxkernel/policies/tunables.h"
#include "tests/unit/search/search_harness.h"

namespace maxkernel {
namespace {

constexpr char kSource[] =
    "ROWS = 8  # tunable: 8, 16, 32\n"
    "COLUMNS = 128  # tunable: 128, 256\n"
    "DOUBLE = False  # tunable: False, True\n";

// An exhaustive search over a small space; every point is a node in the end.
struct TuningRun {
  explicit TuningRun(std::uint32_t workers, AutotuneOptions::Method method = AutotuneOptions::Method::kExhaustive) : method_(method) {
    options.expand_workers = workers;
    options.evaluate_workers = 2;
    evaluator_options.clock = &clock;
    evaluator_options.latency = [](const EvaluateRequest& request) {
      return absl::Milliseconds(1000 + std::stoi(request.idempotency_key.substr(0, 3), nullptr, 16));
    };
  }

  SearchResult Run(Journal& journal) {
    FakeEvaluator evaluator(
        [](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
          const absl::StatusOr<std::vector<Tunable>> tunables = FindTunables(*args.request.candidate);
          if (!tunables.ok()) return tunables.status();
          double seconds = 1;
          for (const Tunable& tunable : *tunables) {
            if (tunable.name == "ROWS") seconds *= 8.0 / std::stoi(tunable.value);
            if (tunable.name == "COLUMNS" && tunable.value == "256") seconds *= 0.7;
            if (tunable.value == "True") return MakeFailedEvaluation(Verdict::kIncorrect, "no");
          }
          return MakeTimedEvaluation({seconds});
        },
        evaluator_options);
    SearchParts parts;
    parts.baseline = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", kSource));
    parts.selection = *MakeBestFirst(BestFirstOptions{.max_in_flight_per_node = 3});
    parts.expansion = *MakeAutotune(AutotuneOptions{method_});
    parts.evaluator = &evaluator;
    parts.journal = &journal;
    parts.clock = &clock;
    absl::StatusOr<std::unique_ptr<Search>> search = Search::Create(options, std::move(parts));
    INFO(search.status().ToString());
    REQUIRE(search.ok());
    const SearchResult result = (*search)->Run();
    answered = evaluator.answered_keys();
    return result;
  }

  FakeClock clock;
  SearchOptions options;
  FakeEvaluatorOptions evaluator_options;
  std::vector<std::string> answered;

 private:
  const AutotuneOptions::Method method_;
};

std::set<std::string> Contents(const GroupJournal& journal) {
  std::set<std::string> contents;
  for (const NodeAdded& node : journal.All<NodeAdded>()) contents.insert(node.candidate->content_hash());
  return contents;
}

std::set<std::string> FinishedKeys(const GroupJournal& journal) {
  std::map<WorkId, std::string> keys;
  for (const EvaluationDispatched& event : journal.All<EvaluationDispatched>()) keys[event.work] = event.idempotency_key;
  std::set<std::string> finished;
  for (const EvaluationFinished& event : journal.All<EvaluationFinished>()) {
    if (event.evaluation.has_value()) finished.insert(keys[event.work]);
  }
  return finished;
}

TEST_CASE("a run that is killed between any two groups and resumed ends with the same nodes") {
  for (std::uint32_t workers : {1, 4}) {
    for (const auto method : {AutotuneOptions::Method::kExhaustive, AutotuneOptions::Method::kRandom}) {
      GroupJournal whole;
      TuningRun uninterrupted(workers, method);
      const SearchResult expected = uninterrupted.Run(whole);
      REQUIRE(expected.nodes == 12);
      REQUIRE(whole.group_count() >= 15);
      for (std::size_t groups = 0; groups < whole.group_count(); ++groups) {
        INFO("killed after group " << groups << " of " << whole.group_count());
        const std::unique_ptr<GroupJournal> journal = whole.Prefix(groups);
        const std::set<std::string> before = FinishedKeys(*journal);
        TuningRun resumed(workers, method);
        resumed.clock.Advance(absl::Hours(24));
        const SearchResult result = resumed.Run(*journal);
        REQUIRE(result.status.ok());
        REQUIRE(result.reason == expected.reason);
        REQUIRE(Contents(*journal) == Contents(whole));
        REQUIRE(result.best_score == expected.best_score);
        REQUIRE(result.cost.evaluations == 12);
        CheckJournal(*journal);
        // Nothing that was finished is evaluated again.
        for (const std::string& key : resumed.answered) REQUIRE_FALSE(before.contains(key));
        REQUIRE(std::set<std::string>(resumed.answered.begin(), resumed.answered.end()).size() == resumed.answered.size());
        // The day in between is not part of the run.
        REQUIRE(ReadRun(*journal)->budget.wall_time < absl::Minutes(10));
      }
    }
  }
}

TEST_CASE("a run can be killed again and again") {
  std::unique_ptr<GroupJournal> journal = std::make_unique<GroupJournal>();
  std::size_t groups = 3;
  for (int life = 0; life < 60; ++life) {
    TuningRun run(3);
    run.clock.Advance(absl::Hours(life));
    journal->fail_from = groups;
    const SearchResult result = run.Run(*journal);
    if (result.status.ok()) break;
    journal = journal->Prefix(journal->group_count());
    groups += 2;
  }
  CHECK(journal->All<RunResumed>().size() > 5);
  CHECK(Contents(*journal).size() == 12);
  CHECK(FinishedKeys(*journal).size() == 12);
  CheckJournal(*journal);
}

TEST_CASE("orphans are issued again under their old decision with the next attempt") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(3);
  std::set<std::string> reply_keys;
  harness.expansion.propose = [&](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    if (absl::Status status = harness.Sleep(args, absl::Seconds(10)); !status.ok()) return status;
    return MakeProposal(absl::StrCat("# ", args.reply_key));
  };
  harness.Run();
  // Cut right after the first proposals were dispatched.
  std::size_t groups = 0;
  while (harness.journal->Prefix(groups)->All<ProposalDispatched>().empty()) ++groups;
  harness.journal = harness.journal->Prefix(groups);
  const auto dispatched = harness.journal->All<ProposalDispatched>();
  REQUIRE(dispatched.size() == 3);
  std::vector<const ProposalDispatched*> earlier;
  harness.expansion.prepare = [&](const PrepareArgs& args) -> std::optional<ProposeRequest> {
    earlier.push_back(args.earlier);
    ProposeRequest request;
    request.operator_name = "fake";
    return request;
  };
  const SearchResult result = harness.Run();
  CHECK(result.nodes == 4);
  REQUIRE(harness.journal->All<RunResumed>().size() == 1);
  CHECK(harness.journal->All<RunResumed>()[0].orphans.size() == 3);
  const auto again = harness.journal->All<ProposalDispatched>();
  REQUIRE(again.size() == 6);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(again[3 + i].decision == dispatched[i].decision);
    CHECK(again[3 + i].attempt == 1);
    CHECK(earlier[i] != nullptr);
  }
  std::set<std::string> texts;
  for (const NodeAdded& node : harness.journal->All<NodeAdded>()) texts.insert(node.candidate->entry().text);
  CHECK(texts == std::set<std::string>{"# baseline", "# d1/o0/s0", "# d2/o0/s0", "# d3/o0/s0"});
  CheckJournal(*harness.journal);
}

TEST_CASE("a run that was being stopped ends when it is resumed") {
  SearchHarness harness;
  harness.options.expand_workers = 2;
  harness.expansion.propose = [&](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    if (absl::Status status = harness.Sleep(args, absl::Seconds(10)); !status.ok()) return status;
    return MakeProposal(absl::StrCat("# ", args.reply_key));
  };
  harness.stop.check = [](const StopArgs& args) -> StopVerdict {
    return args.graph.size() > 4 ? StopVerdict{StopVerdict::Kind::kDrain, "enough"} : StopVerdict{};
  };
  harness.Run();
  std::size_t groups = 0;
  while (harness.journal->Prefix(groups)->All<StopRequested>().empty()) ++groups;
  REQUIRE(groups < harness.journal->group_count());
  harness.journal = harness.journal->Prefix(groups);
  const std::size_t decisions = harness.journal->All<DecisionMade>().size();
  const SearchResult result = harness.Run();
  CHECK(result.reason == "enough");
  CHECK(harness.journal->All<DecisionMade>().size() == decisions);
  CheckJournal(*harness.journal);
}

TEST_CASE("a paused run is still paused when it is resumed") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(2);
  harness.search = harness.Create();
  harness.search->Pause();
  harness.journal->fail_from = 1;
  CHECK_FALSE(harness.search->Run().status.ok());
  harness.journal = harness.journal->Prefix(harness.journal->group_count());
  REQUIRE(harness.journal->All<Paused>().size() == 1);
  harness.search = harness.Create();
  harness.search->Unpause();
  CHECK(harness.search->Run().nodes == 3);
  CHECK(harness.journal->All<Unpaused>().size() == 1);
}

TEST_CASE("a fault of a policy is found again when it is replayed, and not told twice") {
  SearchHarness harness;
  harness.selection.on_event = [](const OnEventArgs& args) {
    if (std::holds_alternative<OrderSettled>(args.event.body)) throw std::runtime_error("boom");
  };
  harness.expansion.propose = [&](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    if (absl::Status status = harness.Sleep(args, absl::Seconds(args.reply_key == "d1/o0/s0" ? 1 : 10)); !status.ok()) return status;
    return MakeProposal(absl::StrCat("# ", args.reply_key));
  };
  harness.options.expand_workers = 2;
  harness.Run();
  std::size_t groups = 0;
  while (harness.journal->Prefix(groups)->All<PolicyFault>().empty()) ++groups;
  REQUIRE(groups < harness.journal->group_count());
  harness.journal = harness.journal->Prefix(groups);
  harness.Run();
  CHECK(harness.journal->All<PolicyFault>().size() == 1);
  CheckJournal(*harness.journal);
}

absl::Status CreateOn(SearchHarness& harness, std::string_view baseline) {
  FakeEvaluator evaluator(harness.answer);
  SearchParts parts;
  parts.baseline = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", baseline));
  parts.selection = MakeFakeSelection();
  parts.expansion = MakeFakeExpansion();
  parts.evaluator = &evaluator;
  parts.journal = harness.journal.get();
  parts.clock = &harness.clock;
  return Search::Create({}, std::move(parts)).status();
}

TEST_CASE("what cannot be resumed says why") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(2);
  harness.Run();
  SECTION("ended") {
    const absl::Status status = CreateOn(harness, "# baseline");
    CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(status.message()), Catch::Matchers::Contains("has ended: exhausted: enough"));
  }
  SECTION("another baseline") {
    harness.journal = harness.journal->Prefix(3);
    const absl::Status status = CreateOn(harness, "# another");
    CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(status.message()), Catch::Matchers::Contains("another baseline"));
  }
}

TEST_CASE("an event that is not legal where it stands is data loss, and is named") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(2);
  harness.Run();
  const std::vector<Event> events = harness.journal->events();
  // Every event left out in turn, the rest renumbered: a journal that cannot be, unless nothing depends on the event.
  std::set<std::string> harmless;
  for (std::size_t left_out = 0; left_out + 1 < events.size(); ++left_out) {
    GroupJournal damaged;
    std::vector<Event> rest;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i == left_out) continue;
      rest.push_back(events[i]);
      rest.back().sequence = EventSequence{rest.size()};
    }
    REQUIRE(damaged.Append(rest).ok());
    const absl::StatusOr<RunSummary> summary = ReadRun(damaged);
    if (summary.ok()) {
      harmless.emplace(EventName(events[left_out].body));
    } else {
      CHECK(summary.status().code() == absl::StatusCode::kDataLoss);
      CHECK_THAT(std::string(summary.status().message()), Catch::Matchers::Contains("journal: event "));
    }
  }
  // The last decision is the policy's word that it is exhausted.
  CHECK(harmless == std::set<std::string>{"decision_made", "new_champion"});

  GroupJournal gap;
  REQUIRE(gap.Append(std::vector<Event>{events[0], events[2]}).ok());
  CHECK_THAT(std::string(ReadRun(gap).status().message()), Catch::Matchers::Contains("event has sequence 3; expected 2"));
}

TEST_CASE("an empty journal reads as a run that has not started") {
  GroupJournal journal;
  const absl::StatusOr<RunSummary> summary = ReadRun(journal);
  REQUIRE(summary.ok());
  CHECK_FALSE(summary->started);
  CHECK(summary->graph->size() == 0);
}

}  // namespace
}  // namespace maxkernel
