// What people can do to a search from other threads.
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/unit/search/search_harness.h"

namespace maxkernel {
namespace {

// Runs an action on the coordinator's thread when the graph first has so many nodes: control functions may be called from anywhere.
class WhenNodes final : public SearchObserver {
 public:
  WhenNodes(std::size_t nodes, std::function<void()> action) : nodes_(nodes), action_(std::move(action)) {}
  void OnEvent(const ObserveArgs& args) override {
    if (done_ || args.graph.size() < nodes_) return;
    done_ = true;
    action_();
  }

 private:
  const std::size_t nodes_;
  const std::function<void()> action_;
  bool done_ = false;
};

struct ControlHarness : SearchHarness {
  ControlHarness() {
    options.expand_workers = 3;
    options.budget.nodes = 200;
    expansion.propose = [this](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
      if (absl::Status status = Sleep(args, absl::Seconds(10)); !status.ok()) return status;
      return MakeProposal(absl::StrCat("# ", args.reply_key));
    };
  }

  SearchResult RunAnd(std::size_t nodes, std::function<void(Search&)> action) {
    WhenNodes trigger(nodes, [&] { action(*search); });
    observers = {&trigger};
    search = Create();
    return search->Run();
  }
};

TEST_CASE("stop finishes what is in flight") {
  ControlHarness harness;
  const SearchResult result = harness.RunAnd(4, [](Search& search) { search.Stop("enough for today"); });
  CHECK(result.status.ok());
  CHECK(result.reason == "enough for today");
  for (const ProposalFinished& finished : harness.journal->All<ProposalFinished>()) CHECK(finished.settle == Settle::kOk);
  for (std::uint64_t id = 0; id < result.nodes; ++id) CHECK(harness.search->graph().node(NodeId{id}).state == NodeState::kValid);
  CheckJournal(*harness.journal);
}

TEST_CASE("abort cancels what is in flight") {
  ControlHarness harness;
  const SearchResult result = harness.RunAnd(4, [](Search& search) { search.Abort("now"); });
  CHECK(result.reason == "now");
  std::size_t cancelled = 0;
  for (const ProposalFinished& finished : harness.journal->All<ProposalFinished>()) cancelled += finished.settle == Settle::kCancelled;
  CHECK(cancelled > 0);
  CheckJournal(*harness.journal);
}

TEST_CASE("abort keeps a candidate that comes in spite of it") {
  ControlHarness harness;
  harness.expansion.propose = [&](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> {
    static_cast<void>(harness.clock.SleepFor(absl::Seconds(10), std::hash<std::string>()(args.reply_key)));  // deaf to cancellation
    return MakeProposal(absl::StrCat("# ", args.reply_key));
  };
  const SearchResult result = harness.RunAnd(4, [](Search& search) { search.Abort("now"); });
  const std::size_t late = harness.journal->All<LateResult>().size();
  CHECK(late > 0);
  std::size_t pending = 0;
  for (std::uint64_t id = 0; id < result.nodes; ++id) {
    pending += harness.search->graph().node(NodeId{id}).state == NodeState::kPending;
  }
  CHECK(pending >= late);
  CheckJournal(*harness.journal);
}

TEST_CASE("a paused search decides nothing until it goes on") {
  ControlHarness harness;
  harness.options.budget.nodes = 20;
  std::thread waker;
  const SearchResult result = harness.RunAnd(4, [&](Search& search) {
    search.Pause();
    // From another thread, once everything in flight has come to rest.
    waker = std::thread([&harness, &search] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      harness.clock.Advance(absl::Hours(1));
      search.Unpause();
    });
  });
  waker.join();
  CHECK(result.reason == "budget: nodes");
  bool paused = false;
  for (const Event& event : harness.journal->events()) {
    if (std::holds_alternative<Paused>(event.body)) paused = true;
    if (std::holds_alternative<Unpaused>(event.body)) paused = false;
    if (paused) CHECK_FALSE(std::holds_alternative<DecisionMade>(event.body));
    if (paused) CHECK_FALSE(std::holds_alternative<ProposalDispatched>(event.body));
  }
  CHECK(ReadRun(*harness.journal)->budget.wall_time < absl::Minutes(10));
  CheckJournal(*harness.journal);
}

TEST_CASE("a paused search can be stopped") {
  ControlHarness harness;
  const SearchResult result = harness.RunAnd(4, [](Search& search) {
    search.Pause();
    search.Stop("while paused");
  });
  CHECK(result.reason == "while paused");
  CheckJournal(*harness.journal);
}

TEST_CASE("an injected candidate becomes a node and competes") {
  ControlHarness harness;
  harness.options.budget.nodes = 30;
  const std::string text = "# by hand, and much faster than any of the others";
  const SearchResult result = harness.RunAnd(4, [&](Search& search) {
    CHECK(search.Inject(*Candidate::FromText("kernel.py", text), {NodeId{2}}, "I know better").ok());
    // Known already: nothing happens.
    CHECK(search.Inject(*Candidate::FromText("kernel.py", "# baseline"), {kRootNode}, "again").ok());
    CHECK(search.Inject(*Candidate::FromText("kernel.py", "# x"), {NodeId{77}}, "").code() == absl::StatusCode::kNotFound);
  });
  REQUIRE(result.best.has_value());
  const Node& node = harness.search->graph().node(*result.best);
  CHECK(node.candidate->entry().text == text);
  CHECK(node.operator_name == "human");
  CHECK(node.rationale == "I know better");
  CHECK(node.parents == std::vector<NodeId>{NodeId{2}});
  CheckJournal(*harness.journal);
}

TEST_CASE("a vetoed node is no champion, and its subtree grows no more valid nodes") {
  ControlHarness harness;
  harness.options.budget.nodes = 40;
  const std::string text = "# by hand, and much faster than any of the others";
  std::optional<NodeId> vetoed;
  WhenNodes inject(3, [&] { CHECK(harness.search->Inject(*Candidate::FromText("kernel.py", text), {kRootNode}, "").ok()); });
  WhenNodes veto(12, [&] {
    vetoed = harness.search->graph().champion();
    CHECK(harness.search->graph().node(*vetoed).candidate->entry().text == text);
    CHECK(harness.search->Veto(*vetoed, Search::VetoScope::kSubtree, "cheats").ok());
    CHECK(harness.search->Veto(NodeId{99}, Search::VetoScope::kNode, "").code() == absl::StatusCode::kNotFound);
  });
  harness.observers = {&inject, &veto};
  harness.search = harness.Create();
  const SearchResult result = harness.search->Run();
  REQUIRE(vetoed.has_value());
  const GraphView& graph = harness.search->graph();
  CHECK(graph.node(*vetoed).state == NodeState::kVetoed);
  REQUIRE_FALSE(graph.node(*vetoed).children.empty());
  for (NodeId child : graph.node(*vetoed).children) CHECK(graph.node(child).state == NodeState::kVetoed);
  REQUIRE(result.best.has_value());
  CHECK(graph.node(*result.best).state == NodeState::kValid);
  CHECK(*result.best == graph.ranked().front());
  CheckJournal(*harness.journal);
}

TEST_CASE("a vetoed baseline leaves a search that still ends") {
  ControlHarness harness;
  harness.selection.select = ExpandRootTimes(3);
  harness.search = harness.Create();
  CHECK(harness.search->Veto(kRootNode, Search::VetoScope::kSubtree, "wrong task").ok());
  const SearchResult result = harness.search->Run();
  CHECK(result.reason == "the baseline was vetoed before it had a score");
  CheckJournal(*harness.journal);
}

TEST_CASE("the budget can be raised while a search runs") {
  ControlHarness harness;
  harness.options.budget.nodes = 10;
  const SearchResult result = harness.RunAnd(6, [](Search& search) {
    Budget budget;
    budget.nodes = 15;
    search.SetBudget(budget);
    search.AddHint("try larger blocks");
  });
  CHECK(result.nodes == 15);
  REQUIRE(harness.journal->All<HintAdded>().size() == 1);
  CHECK(harness.journal->All<HintAdded>()[0].text == "try larger blocks");
}

TEST_CASE("a budget below what waits is still spent") {
  ControlHarness harness;
  harness.options.evaluate_workers = 1;
  harness.answer = [&](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
    const std::size_t order = std::hash<std::string>()(args.request.idempotency_key);
    if (absl::Status status = harness.clock.SleepFor(absl::Seconds(100), order, args.stop); !status.ok()) return status;
    return MakeTimedEvaluation({1.0});
  };
  const SearchResult result = harness.RunAnd(6, [](Search& search) {
    Budget budget;
    budget.evaluations = 3;
    search.SetBudget(budget);
  });
  CHECK(result.reason == "budget: evaluations");
  CHECK(result.cost.evaluations == 3);
  CheckJournal(*harness.journal);
}

TEST_CASE("controls may come before and after the run") {
  ControlHarness harness;
  harness.search = harness.Create();
  harness.search->Stop("at once");
  const SearchResult result = harness.search->Run();
  CHECK(result.reason == "at once");
  harness.search->Abort("too late");
  harness.search->Pause();
  CheckJournal(*harness.journal);
}

TEST_CASE("a stop policy drains or cancels") {
  for (const auto kind : {StopVerdict::Kind::kDrain, StopVerdict::Kind::kCancel}) {
    ControlHarness harness;
    harness.stop.check = [&](const StopArgs& args) -> StopVerdict {
      return args.graph.size() >= 5 ? StopVerdict{kind, "five are enough"} : StopVerdict{};
    };
    const SearchResult result = harness.Run();
    CHECK(result.reason == "five are enough");
    CheckJournal(*harness.journal);
  }
}

TEST_CASE("controls from many threads at once do no harm") {
  ControlHarness harness;
  harness.options.budget.nodes = 60;
  harness.search = harness.Create();
  std::vector<std::thread> threads;
  std::atomic<int> refused{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 20; ++j) {
        harness.search->Pause();
        harness.search->AddHint(absl::StrCat(i, " ", j));
        if (!harness.search->Inject(*Candidate::FromText("kernel.py", absl::StrCat("# ", i, " ", j)), {kRootNode}, "").ok()) ++refused;
        harness.search->Unpause();
      }
    });
  }
  const SearchResult result = harness.search->Run();
  for (std::thread& thread : threads) thread.join();
  CHECK(refused == 0);
  CHECK(result.status.ok());
  CheckJournal(*harness.journal);
}

}  // namespace
}  // namespace maxkernel
