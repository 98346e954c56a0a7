#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/unit/search/search_harness.h"

namespace maxkernel {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("a search ends when the policy is exhausted, and keeps the rules of its journal") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(5);
  const SearchResult result = harness.Run();
  CHECK(result.status.ok());
  CHECK(result.reason == "exhausted: enough");
  CHECK(result.nodes == 6);
  CHECK(result.cost.nodes == 6);
  CHECK(result.cost.evaluations == 6);
  CHECK(harness.journal->All<OrderSettled>().size() == 5);
  CheckJournal(*harness.journal);
}

TEST_CASE("the first events are those of the baseline") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(0);
  harness.Run();
  std::vector<std::string> names;
  for (const Event& event : harness.journal->events()) names.emplace_back(EventName(event.body));
  CHECK(names == std::vector<std::string>{"run_started", "node_added", "evaluation_dispatched", "evaluation_finished", "new_champion",
                                          "decision_made", "run_ended"});
}

TEST_CASE("a baseline that is not correct ends the run with its diagnostic") {
  SearchHarness harness;
  harness.answer = [](const EvaluateArgs&) { return MakeFailedEvaluation(Verdict::kIncorrect, "3 of 8 elements differ"); };
  const SearchResult result = harness.Run();
  CHECK(result.reason == "the baseline is not correct: incorrect: 3 of 8 elements differ");
  CHECK(result.status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_FALSE(result.best.has_value());
  CheckJournal(*harness.journal);
}

TEST_CASE("a baseline without a time ends the run and says why there is none") {
  SearchHarness harness;
  harness.answer = [](const EvaluateArgs&) {
    Evaluation evaluation = MakeTimedEvaluation({});
    evaluation.cases[0].absent = "no model for this primitive";
    return evaluation;
  };
  CHECK(harness.Run().reason == "the baseline is correct but has no score: case only: no model for this primitive");
}

TEST_CASE("an evaluator that does not offer the fidelity is an error before anything is written") {
  SearchHarness harness;
  harness.options.fidelity = Fidelity::kDevice;
  const SearchResult result = harness.Run();
  CHECK(result.status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(result.reason, Contains("does not offer the fidelity device; it offers estimate"));
  CHECK(harness.journal->group_count() == 0);
}

TEST_CASE("a budget is never exceeded, whatever the policy asks for") {
  for (std::int64_t limit : {1, 2, 7, 20}) {
    for (const bool nodes : {false, true}) {
      SearchHarness harness;
      (nodes ? harness.options.budget.nodes : harness.options.budget.evaluations) = limit;
      harness.options.expand_workers = 5;
      harness.selection.select = [](const SelectArgs&) { return ExpandRoot(3); };
      harness.expansion.propose = [&](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
        // Two candidates each, where one was reserved for.
        ProposeResult result = MakeProposal(absl::StrCat("# a ", args.reply_key));
        result.proposals.push_back(MakeProposal(absl::StrCat("# b ", args.reply_key)).proposals[0]);
        return result;
      };
      const SearchResult result = harness.Run();
      INFO(result.reason);
      CHECK(result.reason == (nodes ? "budget: nodes" : "budget: evaluations"));
      CHECK(result.cost.nodes <= (nodes ? limit : result.cost.nodes));
      CHECK(result.cost.evaluations <= limit);
      CHECK(result.cost.evaluations == limit);
      CheckJournal(*harness.journal);
    }
  }
}

TEST_CASE("money is reserved before it is spent") {
  SearchHarness harness;
  harness.options.budget.microdollars = 100;
  harness.expansion.prepare = [](const PrepareArgs&) {
    ProposeRequest request;
    request.operator_name = "fake";
    request.reserve.microdollars = 30;
    return request;
  };
  harness.expansion.propose = [](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    ProposeResult result = MakeProposal(absl::StrCat("# ", args.reply_key));
    result.cost.microdollars = 20;
    return result;
  };
  const SearchResult result = harness.Run();
  CHECK(result.reason == "budget: money");
  CHECK(result.cost.microdollars == 80);  // with 20 left, the 30 of another call cannot be reserved
}

TEST_CASE("wall time is a budget that pauses do not use") {
  SearchHarness harness;
  harness.options.budget.wall_time = absl::Seconds(100);
  harness.options.expand_workers = 1;
  harness.expansion.propose = [&](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    if (absl::Status status = harness.Sleep(args, absl::Seconds(30)); !status.ok()) return status;
    return MakeProposal(absl::StrCat("# ", args.reply_key));
  };
  const SearchResult result = harness.Run();
  CHECK(result.reason == "budget: wall time");
  CHECK(result.nodes == 5);  // starts at 0, 30, 60 and 90 seconds
  const absl::StatusOr<RunSummary> summary = ReadRun(*harness.journal);
  CHECK(summary->budget.wall_time == absl::Seconds(120));
}

TEST_CASE("a candidate that exists is linked and not evaluated again") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(6);
  harness.expansion.propose = [](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    return MakeProposal(args.reply_key == "d1/o0/s0" ? "# baseline  " : "# the same");
  };
  const SearchResult result = harness.Run();
  CHECK(result.nodes == 2);
  CHECK(result.cost.evaluations == 2);
  CHECK(harness.journal->All<DuplicateDetected>().size() == 5);
  std::map<Settle, int> settles;
  for (const OrderSettled& order : harness.journal->All<OrderSettled>()) ++settles[order.settle];
  CHECK(settles[Settle::kDuplicate] == 5);
  CHECK(settles[Settle::kOk] == 1);
  CheckJournal(*harness.journal);
}

TEST_CASE("infrastructure failures are retried with back-off under the same keys") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(1);
  harness.options.retry_delay = absl::Seconds(1);
  std::vector<absl::Time> proposed;
  std::set<std::string> reply_keys;
  std::set<std::uint32_t> draws;
  harness.expansion.propose = [&](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    proposed.push_back(harness.clock.Now());
    reply_keys.insert(args.reply_key);
    KeyedRandom random = args.random;
    draws.insert(random.NextUint32());
    if (proposed.size() <= 2) return absl::UnavailableError("the model's service is down");
    return MakeProposal("# a candidate");
  };
  std::vector<absl::Time> evaluated;
  const FakeEvaluator::Answer usual = harness.answer;
  harness.answer = [&](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
    if (args.request.candidate->entry().text == "# baseline") return usual(args);
    evaluated.push_back(harness.clock.Now());
    if (evaluated.size() <= 3) return absl::ResourceExhaustedError("queue is full");
    return usual(args);
  };
  const SearchResult result = harness.Run();
  CHECK(result.reason == "exhausted: enough");
  CHECK(result.nodes == 2);
  REQUIRE(proposed.size() == 3);
  CHECK(proposed[1] - proposed[0] == absl::Seconds(1));
  CHECK(proposed[2] - proposed[1] == absl::Seconds(2));
  CHECK(reply_keys.size() == 1);
  CHECK(draws.size() == 1);
  REQUIRE(evaluated.size() == 4);
  CHECK(evaluated[3] - evaluated[2] == absl::Seconds(4));
  std::set<std::string> keys;
  std::vector<std::uint32_t> attempts;
  for (const EvaluationDispatched& event : harness.journal->All<EvaluationDispatched>()) {
    if (event.node == kRootNode) continue;
    keys.insert(event.idempotency_key);
    attempts.push_back(event.attempt);
  }
  CHECK(keys.size() == 1);
  CHECK(attempts == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(result.cost.evaluations == 2);  // failed attempts do not count
  CheckJournal(*harness.journal);
}

TEST_CASE("after the last retry the order settles as failed by the infrastructure and the node is broken") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(2);
  harness.options.expand_workers = 1;
  harness.expansion.propose = [](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    if (args.reply_key == "d1/o0/s0") return absl::UnavailableError("down");
    return MakeProposal("# cannot be evaluated");
  };
  const FakeEvaluator::Answer usual = harness.answer;
  harness.answer = [&](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
    if (args.request.candidate->entry().text == "# baseline") return usual(args);
    return absl::AbortedError("lost the device");
  };
  const SearchResult result = harness.Run();
  CHECK(result.status.ok());
  for (const OrderSettled& order : harness.journal->All<OrderSettled>()) CHECK(order.settle == Settle::kInfrastructureFailed);
  CHECK(harness.search->graph().node(NodeId{1}).state == NodeState::kBroken);
  CHECK(harness.journal->All<ProposalDispatched>().size() == 4 + 1);
  CHECK(harness.journal->All<EvaluationDispatched>().size() == 1 + 4);
  CheckJournal(*harness.journal);
}

TEST_CASE("an error that no retry can cure is not retried") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(1);
  harness.expansion.propose = [](const ProposeArgs&) -> absl::StatusOr<ProposeResult> {
    return absl::PermissionDeniedError("bad key");
  };
  harness.Run();
  CHECK(harness.journal->All<ProposalDispatched>().size() == 1);
}

TEST_CASE("many infrastructure failures in a row suspend the run, which can be resumed") {
  SearchHarness harness;
  harness.options.give_up_after = 5;
  harness.options.retries = 1;
  harness.expansion.propose = [](const ProposeArgs&) -> absl::StatusOr<ProposeResult> { return absl::UnavailableError("down"); };
  const SearchResult result = harness.Run();
  CHECK(result.status.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(result.reason, Contains("5 infrastructure failures in a row") && Contains("down"));
  CHECK(harness.journal->All<RunEnded>().empty());

  harness.selection.select = ExpandRootTimes(0);
  harness.expansion.propose = nullptr;
  const SearchResult resumed = harness.Run();
  CHECK(resumed.status.ok());
  CHECK(resumed.reason == "exhausted: enough");
  CheckJournal(*harness.journal);
}

TEST_CASE("a root that cannot be evaluated suspends the run") {
  SearchHarness harness;
  harness.answer = [](const EvaluateArgs&) -> absl::StatusOr<Evaluation> { return absl::UnavailableError("connection refused"); };
  const SearchResult result = harness.Run();
  CHECK(result.status.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(result.reason, Contains("the baseline could not be evaluated: connection refused"));
  CHECK(harness.journal->All<EvaluationDispatched>().size() == 4);
}

TEST_CASE("proposals without anything new end a run that would never end") {
  SearchHarness harness;
  harness.options.barren_after = 30;
  harness.expansion.propose = [](const ProposeArgs&) -> absl::StatusOr<ProposeResult> {
    ProposeResult result;
    result.failure = "the edit does not apply";
    return result;
  };
  const SearchResult result = harness.Run();
  CHECK(result.status.ok());
  CHECK_THAT(result.reason, Contains("barren: 30 proposals in a row"));
  CheckJournal(*harness.journal);
}

TEST_CASE("a deadline does not depend on the call that misses it, and what comes late is kept") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(1);
  harness.options.proposal_deadline = absl::Seconds(60);
  harness.options.retries = 0;
  harness.expansion.propose = [&](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    // Deaf to cancellation.
    if (absl::Status status = harness.clock.SleepFor(absl::Seconds(80), 1); !status.ok()) return status;
    ProposeResult result = MakeProposal(absl::StrCat("# late ", args.reply_key));
    result.cost.microdollars = 7;
    return result;
  };
  const SearchResult result = harness.Run();
  const auto finished = harness.journal->All<ProposalFinished>();
  REQUIRE(finished.size() == 1);
  CHECK(finished[0].settle == Settle::kInfrastructureFailed);
  CHECK(finished[0].duration == absl::Seconds(60));
  CHECK_THAT(finished[0].detail, Contains("no answer within 1m"));
  CHECK(harness.journal->All<LateResult>().size() == 1);
  CHECK(result.cost.microdollars == 7);
  CHECK(result.nodes == 2);
  CHECK(harness.search->graph().node(NodeId{1}).state == NodeState::kValid);
  CheckJournal(*harness.journal);
}

TEST_CASE("calls that do not come back suspend the run") {
  SearchHarness harness;
  harness.options.expand_workers = 1;
  harness.options.proposal_deadline = absl::Seconds(60);
  harness.options.retries = 0;
  harness.selection.select = ExpandRootTimes(2);
  harness.expansion.propose = [&](const ProposeArgs&) -> absl::StatusOr<ProposeResult> {
    static_cast<void>(harness.clock.SleepFor(absl::Hours(10), 1));  // deaf to cancellation
    return absl::CancelledError("at last");
  };
  const absl::Time start = harness.clock.Now();
  std::thread releaser([&] {
    while (harness.clock.Now() < start + absl::Seconds(90)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    harness.clock.Advance(absl::Hours(11));
  });
  const SearchResult result = harness.Run();
  releaser.join();
  CHECK(result.status.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(result.reason, Contains("1 calls did not return within 30s"));
  CHECK(harness.journal->All<RunEnded>().empty());
}

TEST_CASE("a policy that only waits ends the run as stuck") {
  SearchHarness harness;
  int asked = 0;
  harness.selection.select = [&](const SelectArgs&) {
    ++asked;
    return Decision::Wait("for a miracle");
  };
  const SearchResult result = harness.Run();
  CHECK(result.reason == "stuck: the selection policy waits with nothing in flight (for a miracle)");
  CHECK(asked == 2);
  CheckJournal(*harness.journal);
}

TEST_CASE("a policy that decides without end and to no effect ends the run as stuck") {
  SearchHarness harness;
  harness.selection.select = [](const SelectArgs&) {
    return Decision::Orders({RelabelOrder{kRootNode, "a", RelabelOrder::Mode::kMove}}, "again");
  };
  CHECK_THAT(harness.Run().reason, Contains("stuck: 1000 decisions in a row led to no work"));
  CheckJournal(*harness.journal);
}

TEST_CASE("an exhausted operator is noted on the node and the order settles at once") {
  SearchHarness harness;
  harness.selection.select = [](const SelectArgs& args) {
    const Node& root = args.graph.node(kRootNode);
    if (!root.exhausted_operators.empty()) return Decision::Exhausted("nothing left");
    if (args.in_flight.orders_on(kRootNode) > 0) return Decision::Wait("for the only order");
    ExpandOrder order;
    order.parents = {kRootNode};
    order.operator_name = "fake";
    order.samples = 4;
    return Decision::Orders({order}, "");
  };
  harness.expansion.prepare = [](const PrepareArgs& args) -> std::optional<ProposeRequest> {
    if (args.sample >= 2) return std::nullopt;
    ProposeRequest request;
    request.operator_name = "fake";
    return request;
  };
  const SearchResult result = harness.Run();
  CHECK(result.nodes == 3);
  CHECK(harness.search->graph().node(kRootNode).exhausted_operators == std::vector<std::string>{"fake"});
  CheckJournal(*harness.journal);
}

struct FaultCase {
  std::string name;
  std::function<void(SearchHarness&)> break_it;
  std::string expected;
};

TEST_CASE("an exception of a policy costs the run its future, not its data") {
  const std::vector<FaultCase> cases{
      {"Select",
       [](SearchHarness& h) {
         h.selection.select = [](const SelectArgs& args) -> Decision {
           if (args.graph.size() < 3) return ExpandRoot();
           throw std::runtime_error("boom");
         };
       },
       "selection policy threw: boom"},
      {"Select, not a std::exception", [](SearchHarness& h) { h.selection.select = [](const SelectArgs&) -> Decision { throw 7; }; },
       "selection policy threw something"},
      {"Select, an impossible order",
       [](SearchHarness& h) {
         h.selection.select = [](const SelectArgs&) {
           ExpandOrder order;
           order.parents = {NodeId{99}};
           return Decision::Orders({order}, "");
         };
       },
       "selection policy: order 0 names node n99, which is not in the graph"},
      {"Select, no orders", [](SearchHarness& h) { h.selection.select = [](const SelectArgs&) { return Decision::Orders({}, ""); }; },
       "the answer kOrders has no orders"},
      {"OnEvent of the selection",
       [](SearchHarness& h) {
         h.selection.on_event = [](const OnEventArgs& args) {
           if (std::holds_alternative<NodeAdded>(args.event.body) && args.graph.size() == 3) throw std::runtime_error("boom");
         };
       },
       "selection policy threw: boom (in OnEvent of event"},
      {"OnEvent of the expansion",
       [](SearchHarness& h) {
         h.expansion.on_event = [](const OnEventArgs& args) {
           if (std::holds_alternative<OrderSettled>(args.event.body)) throw std::runtime_error("boom");
         };
       },
       "expansion policy threw: boom"},
      {"Prepare",
       [](SearchHarness& h) {
         h.expansion.prepare = [](const PrepareArgs&) -> std::optional<ProposeRequest> { throw std::runtime_error("boom"); };
       },
       "expansion policy threw: boom"},
      {"Prepare, a status",
       [](SearchHarness& h) {
         h.expansion.prepare = [](const PrepareArgs&) -> absl::StatusOr<std::optional<ProposeRequest>> {
           return absl::NotFoundError("no such operator");
         };
       },
       "no such operator"},
      {"Check",
       [](SearchHarness& h) {
         h.stop.check = [](const StopArgs& args) -> StopVerdict {
           if (args.graph.size() > 2) throw std::runtime_error("boom");
           return {};
         };
       },
       "stop policy threw: boom"},
  };
  for (const FaultCase& fault : cases) {
    DYNAMIC_SECTION(fault.name) {
      SearchHarness harness;
      harness.options.expand_workers = 2;
      fault.break_it(harness);
      const SearchResult result = harness.Run();
      CHECK_THAT(result.reason, Contains("policy fault: ") && Contains(fault.expected));
      CHECK_FALSE(result.status.ok());
      CHECK(result.best.has_value());
      CHECK(harness.journal->All<PolicyFault>().size() == 1);
      CheckJournal(*harness.journal);
    }
  }
}

TEST_CASE("an exception of a worker costs one node") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(4);
  harness.options.retries = 1;
  harness.expansion.propose = [](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    if (args.reply_key == "d2/o0/s0") throw std::runtime_error("a bug");
    return MakeProposal(absl::StrCat("# ", args.reply_key));
  };
  const FakeEvaluator::Answer usual = harness.answer;
  harness.answer = [&](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
    if (args.request.candidate->entry().text == "# d3/o0/s0") throw 3;
    return usual(args);
  };
  const SearchResult result = harness.Run();
  CHECK(result.status.ok());
  CHECK(result.nodes == 4);
  std::string details;
  for (const ProposalFinished& finished : harness.journal->All<ProposalFinished>()) details += finished.detail;
  CHECK_THAT(details, Contains("proposer threw: a bug"));
  CheckJournal(*harness.journal);
}

class BrokenObserver final : public SearchObserver {
 public:
  void OnEvent(const ObserveArgs&) override {
    ++calls;
    throw std::runtime_error("no terminal");
  }
  int calls = 0;
};

class CountingObserver final : public SearchObserver {
 public:
  void OnEvent(const ObserveArgs& args) override { names.emplace_back(EventName(args.event.body)); }
  std::vector<std::string> names;
};

TEST_CASE("a broken observer is detached after three exceptions and disturbs nobody") {
  SearchHarness harness;
  BrokenObserver broken;
  CountingObserver counting;
  harness.observers = {&broken, &counting};
  harness.selection.select = ExpandRootTimes(2);
  CHECK(harness.Run().status.ok());
  CHECK(broken.calls == 3);
  CHECK(counting.names.size() == harness.journal->events().size());
}

TEST_CASE("a full disk ends the run with what is in the journal, and nothing half applied") {
  const auto prepare = [](SearchHarness& harness) {
    harness.selection.select = ExpandRootTimes(6);
    harness.options.expand_workers = 2;
    // Virtual time makes the groups the same in every run.
    harness.evaluator_options.latency = [](const EvaluateRequest&) { return absl::Seconds(3); };
    harness.expansion.propose = [&harness](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
      if (absl::Status status = harness.Sleep(args, absl::Seconds(5)); !status.ok()) return status;
      return MakeProposal(absl::StrCat("# ", args.reply_key));
    };
  };
  SearchHarness whole;
  prepare(whole);
  whole.Run();
  REQUIRE(whole.journal->group_count() > 8);
  for (std::size_t groups = 0; groups < whole.journal->group_count(); ++groups) {
    SearchHarness harness;
    prepare(harness);
    harness.journal->fail_from = groups;
    const SearchResult result = harness.Run();
    CHECK(result.status.code() == absl::StatusCode::kResourceExhausted);
    CHECK_THAT(result.reason, Contains("journal: no space left on device"));
    CHECK(harness.journal->All<NodeAdded>().size() == result.nodes);
    CHECK(harness.search->graph().size() == result.nodes);
    const absl::StatusOr<RunSummary> summary = ReadRun(*harness.journal);
    REQUIRE(summary.ok());
    CHECK(summary->budget.spent == result.cost);
  }
}

TEST_CASE("orders to evaluate, cancel and relabel are carried out") {
  SearchHarness harness;
  harness.evaluator_options.info.fidelities = {Fidelity::kEstimate, Fidelity::kInterpret};
  harness.answer = [](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
    return MakeTimedEvaluation({1}, args.request.fidelity);
  };
  harness.options.expand_workers = 2;
  harness.expansion.propose = [&](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    if (absl::Status status = harness.Sleep(args, absl::Seconds(args.reply_key == "d1/o0/s0" ? 1000 : 1)); !status.ok()) return status;
    return MakeProposal(absl::StrCat("# ", args.reply_key));
  };
  std::optional<WorkId> slow;
  harness.selection.on_event = [&](const OnEventArgs& args) {
    const auto* dispatched = std::get_if<ProposalDispatched>(&args.event.body);
    if (dispatched != nullptr && dispatched->decision == DecisionId{1}) slow = dispatched->work;
  };
  harness.selection.select = [&](const SelectArgs& args) -> Decision {
    switch (ToNumber(args.decision)) {
      case 1:
      case 2:
        return ExpandRoot();
      case 3:
        if (args.graph.size() < 2 || args.graph.node(NodeId{1}).state != NodeState::kValid) return Decision::Wait("for the node");
        return Decision::Orders({EvaluateOrder{NodeId{1}, Fidelity::kInterpret, 1, kRootNode}, CancelOrder{*slow},
                                 RelabelOrder{NodeId{1}, "island", RelabelOrder::Mode::kMove}, CancelOrder{WorkId{999}}},
                                "all kinds");
      default:
        if (args.in_flight.evaluations() > 0) return Decision::Wait("for the evaluation");
        return Decision::Exhausted("done");
    }
  };
  const SearchResult result = harness.Run();
  CHECK(result.reason == "exhausted: done");
  CHECK(harness.search->graph().node(NodeId{1}).branches == std::vector<std::string>{"island"});
  CHECK(harness.search->graph().node(NodeId{1}).evaluation_count == 2);
  CHECK(harness.search->graph().node(NodeId{1}).score->fidelity == Fidelity::kEstimate);
  const std::vector<EvaluateRequest> requests = harness.evaluator->requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[2].fidelity == Fidelity::kInterpret);
  REQUIRE(requests[2].paired != nullptr);
  CHECK(requests[2].paired->entry().text == "# baseline");
  const auto proposals = harness.journal->All<ProposalFinished>();
  CHECK(std::count_if(proposals.begin(), proposals.end(), [](const auto& p) { return p.settle == Settle::kCancelled; }) == 1);
  CHECK(harness.clock.Now() < absl::FromUnixSeconds(1'700'000'000) + absl::Seconds(100));
  CheckJournal(*harness.journal);
}

TEST_CASE("a noisy champion is measured again before it counts") {
  SearchHarness harness;
  harness.options.fidelity = Fidelity::kCpu;
  harness.evaluator_options.info.fidelities = {Fidelity::kCpu};
  harness.selection.select = ExpandRootTimes(1);
  int looks = 0;
  harness.answer = [&](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
    if (args.request.candidate->entry().text == "# baseline") return MakeTimedEvaluation({1.0, 1.01, 0.99}, Fidelity::kCpu);
    // A lucky first look.
    return ++looks == 1 ? MakeTimedEvaluation({0.1, 0.1, 0.1}, Fidelity::kCpu) : MakeTimedEvaluation({1.2, 1.21, 1.19}, Fidelity::kCpu);
  };
  SECTION("a lucky one is found out") {
    const SearchResult result = harness.Run();
    CHECK(looks == 2);
    CHECK(result.best == kRootNode);
    CHECK(harness.search->graph().node(NodeId{1}).score->value == Approx(1 / 1.2).epsilon(0.01));
  }
  SECTION("not if nobody wants it") {
    harness.options.confirm = false;
    const SearchResult result = harness.Run();
    CHECK(looks == 1);
    CHECK(result.best == NodeId{1});
  }
  SECTION("the budget keeps room for it") {
    harness.options.budget.evaluations = 3;
    harness.selection.select = nullptr;
    const SearchResult result = harness.Run();
    CHECK(looks == 2);
    CHECK(result.reason == "budget: evaluations");
    CHECK(result.cost.evaluations == 3);
  }
  CheckJournal(*harness.journal);
}

TEST_CASE("a flaky candidate fails when it is confirmed") {
  SearchHarness harness;
  harness.options.confirm = true;
  harness.selection.select = ExpandRootTimes(1);
  int looks = 0;
  const FakeEvaluator::Answer usual = harness.answer;
  harness.answer = [&](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
    if (args.request.candidate->entry().text == "# baseline") return usual(args);
    return ++looks == 1 ? MakeTimedEvaluation({0.1}) : MakeFailedEvaluation(Verdict::kIncorrect, "a race");
  };
  const SearchResult result = harness.Run();
  CHECK(result.best == kRootNode);
  CHECK(harness.search->graph().node(NodeId{1}).state == NodeState::kFailed);
  CheckJournal(*harness.journal);
}

TEST_CASE("expansion is held back while too many nodes wait for an evaluator") {
  SearchHarness harness;
  harness.options.expand_workers = 4;
  harness.options.evaluate_workers = 1;
  harness.options.evaluation_queue = 3;
  harness.options.budget.nodes = 30;
  harness.evaluator_options.latency = [](const EvaluateRequest&) { return absl::Seconds(100); };
  harness.expansion.propose = [&](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    if (absl::Status status = harness.Sleep(args, absl::Seconds(1)); !status.ok()) return status;
    return MakeProposal(absl::StrCat("# ", args.reply_key));
  };
  std::size_t most = 0;
  harness.stop.check = [&](const StopArgs& args) -> StopVerdict {
    std::size_t pending = 0;
    for (std::uint64_t id = 0; id < args.graph.size(); ++id) {
      pending += args.graph.node(NodeId{id}).state == NodeState::kPending ? 1 : 0;
    }
    most = std::max(most, pending);
    return {};
  };
  harness.Run();
  CHECK(most >= 3);
  CHECK(most <= 3 + 4);  // what was in flight when the bound was reached still comes
  CheckJournal(*harness.journal);
}

TEST_CASE("the cost of one proposal is shared among its nodes") {
  SearchHarness harness;
  harness.selection.select = ExpandRootTimes(1);
  harness.expansion.propose = [](const ProposeArgs&) -> absl::StatusOr<ProposeResult> {
    ProposeResult result = MakeProposal("# one");
    result.proposals.push_back(MakeProposal("# two and").proposals[0]);
    result.proposals.push_back(MakeProposal("# three and").proposals[0]);
    result.cost.microdollars = 100;
    return result;
  };
  const SearchResult result = harness.Run();
  std::int64_t sum = 0;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const std::int64_t part = harness.search->graph().node(NodeId{id}).cost.microdollars;
    CHECK((part == 33 || part == 34));
    sum += part;
  }
  CHECK(sum == 100);
  CHECK(result.cost.microdollars == 100);
}

TEST_CASE("an evaluator that answers at another fidelity is at fault, not the candidate") {
  SearchHarness harness;
  harness.answer = [](const EvaluateArgs&) -> absl::StatusOr<Evaluation> { return MakeTimedEvaluation({1}, Fidelity::kCpu); };
  harness.options.retries = 0;
  const SearchResult result = harness.Run();
  CHECK_THAT(result.reason, Contains("answered at fidelity cpu; it was asked for estimate"));
}

TEST_CASE("bad options and missing parts are named") {
  SearchOptions options;
  options.expand_workers = 0;
  CHECK_THAT(std::string(options.Validate().message()), Contains("expand_workers"));
  options = {};
  options.budget.nodes = -1;
  CHECK_THAT(std::string(options.Validate().message()), Contains("budget.nodes"));
  CHECK_THAT(std::string(Search::Create({}, {}).status().message()), Contains("baseline is missing"));
}

}  // namespace
}  // namespace maxkernel
