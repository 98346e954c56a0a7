// What the tests of the engine share.
#ifndef MAXKERNEL_TESTS_UNIT_SEARCH_SEARCH_HARNESS_H_
#define MAXKERNEL_TESTS_UNIT_SEARCH_SEARCH_HARNESS_H_

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "maxkernel/search.h"
#include "maxkernel/testing/fake_clock.h"
#include "maxkernel/testing/fake_evaluator.h"
#include "maxkernel/testing/fake_expansion.h"

namespace maxkernel {

// A memory journal that remembers its groups, can be cut at their boundaries, and can fail.
class GroupJournal final : public Journal {
 public:
  absl::Status Append(std::span<const Event> events) override {
    if (groups_.size() >= fail_from) return absl::ResourceExhaustedError("no space left on device");
    groups_.emplace_back(events.begin(), events.end());
    return absl::OkStatus();
  }

  absl::Status ForEach(const std::function<absl::Status(const Event&)>& visit) override {
    for (const auto& group : groups_) {
      for (const Event& event : group) {
        if (absl::Status status = visit(event); !status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  ReplyLog& replies() override { return memory_->replies(); }

  std::unique_ptr<GroupJournal> Prefix(std::size_t groups) const {
    auto prefix = std::make_unique<GroupJournal>();
    prefix->groups_.assign(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(groups));
    return prefix;
  }

  std::size_t group_count() const { return groups_.size(); }

  template <typename Body>
  std::vector<Body> All() const {
    std::vector<Body> bodies;
    for (const auto& group : groups_) {
      for (const Event& event : group) {
        if (const auto* body = std::get_if<Body>(&event.body)) bodies.push_back(*body);
      }
    }
    return bodies;
  }

  std::vector<Event> events() const {
    std::vector<Event> all;
    for (const auto& group : groups_) all.insert(all.end(), group.begin(), group.end());
    return all;
  }

  std::size_t fail_from = static_cast<std::size_t>(-1);

 private:
  std::vector<std::vector<Event>> groups_;
  std::unique_ptr<Journal> memory_ = MakeMemoryJournal();
};

// A search of fakes on a virtual clock. Set what the test is about, then Run().
struct SearchHarness {
  SearchHarness() {
    evaluator_options.clock = &clock;
    // 1 second for the root, then faster with every candidate, by its text's length.
    answer = [](const EvaluateArgs& args) -> absl::StatusOr<Evaluation> {
      return MakeTimedEvaluation({10.0 / static_cast<double>(args.request.candidate->entry().text.size())});
    };
  }

  std::unique_ptr<Search> Create() {
    evaluator = std::make_unique<FakeEvaluator>(answer, evaluator_options);
    SearchParts parts;
    parts.baseline = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", "# baseline"));
    parts.selection = MakeFakeSelection(selection);
    parts.expansion = MakeFakeExpansion(expansion);
    if (stop.check || stop.on_event) parts.stop = MakeFakeStop(stop);
    parts.objective = std::move(objective);
    parts.evaluator = evaluator.get();
    parts.journal = journal.get();
    parts.clock = &clock;
    parts.observers = observers;
    absl::StatusOr<std::unique_ptr<Search>> search = Search::Create(options, std::move(parts));
    INFO(search.status().ToString());
    REQUIRE(search.ok());
    return *std::move(search);
  }

  SearchResult Run() {
    search = Create();
    return search->Run();
  }

  // A sleep of the virtual clock for a proposal, ordered by its place in the run.
  absl::Status Sleep(const ProposeArgs& args, absl::Duration time) {
    return clock.SleepFor(time, std::hash<std::string>()(args.reply_key), args.stop);
  }

  FakeClock clock;
  SearchOptions options;
  FakeSelectionFunctions selection;
  FakeExpansionFunctions expansion;
  FakeStopFunctions stop;
  FakeEvaluator::Answer answer;
  FakeEvaluatorOptions evaluator_options;
  std::unique_ptr<Objective> objective;
  std::vector<SearchObserver*> observers;
  std::unique_ptr<GroupJournal> journal = std::make_unique<GroupJournal>();
  std::unique_ptr<FakeEvaluator> evaluator;
  std::unique_ptr<Search> search;
};

inline Decision ExpandRoot(std::uint32_t samples = 1) {
  ExpandOrder order;
  order.parents = {kRootNode};
  order.samples = samples;
  return Decision::Orders({order}, "the root");
}

// A selection that gives `orders` orders on the root, one by one, and is then exhausted.
inline std::function<Decision(const SelectArgs&)> ExpandRootTimes(std::size_t orders) {
  return [orders](const SelectArgs& args) {
    if (ToNumber(args.decision) <= orders) {
      return args.free.expand > 0 ? ExpandRoot() : Decision::Wait("no free worker");
    }
    const InFlightView& in_flight = args.in_flight;
    const bool idle = in_flight.orders_on(kRootNode) == 0 && in_flight.evaluations() + in_flight.waiting_evaluations() == 0;
    return idle ? Decision::Exhausted("enough") : Decision::Wait("in flight");
  };
}

// The rules that every journal of an ended run keeps, checked without the engine's own fold.
void CheckJournal(const GroupJournal& journal);

// Everything in an event, as text.
std::string TextOf(const Event& event);

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTS_UNIT_SEARCH_SEARCH_HARNESS_H_
