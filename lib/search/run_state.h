#ifndef MAXKERNEL_LIB_SEARCH_RUN_STATE_H_
#define MAXKERNEL_LIB_SEARCH_RUN_STATE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/search/budget_ledger.h"
#include "lib/search/in_flight.h"
#include "lib/search/search_graph.h"
#include "maxkernel/event.h"

namespace maxkernel {

struct OrderKey {
  DecisionId decision{};
  std::uint32_t order_index = 0;
  auto operator<=>(const OrderKey&) const = default;
};
struct SampleKey {
  OrderKey order;
  std::uint32_t sample = 0;
  auto operator<=>(const SampleKey&) const = default;
};

// One proposal of an expand order, across all its attempts.
struct Sample {
  enum class State : std::uint8_t { kToDo, kInFlight, kDone };
  State state = State::kToDo;
  std::uint32_t attempts = 0;  // dispatches so far
  std::uint32_t failures = 0;  // infrastructure failures among them
  std::shared_ptr<const ProposalDispatched> latest;
};

// An order from its decision to its settlement.
struct OpenOrder {
  Order order;
  std::vector<Sample> samples;        // empty unless it is an expand order
  std::vector<NodeId> children;
  std::uint32_t open_evaluations = 0; // of children, or the one that was ordered
  std::optional<Settle> last_outcome;
  bool exhausted = false;
};

// An evaluation that has to happen, across all its attempts.
using TaskId = std::uint64_t;
struct EvaluationTask {
  NodeId node{};
  EvaluationPurpose purpose = EvaluationPurpose::kScore;
  std::optional<OrderKey> order;      // that waits for it
  EvaluateOrder details;              // what to do, if the purpose is kOrder
  bool in_flight = false;
  std::uint32_t attempts = 0;
  std::uint32_t failures = 0;
};

// Dispatched and not settled.
struct Work {
  std::optional<SampleKey> sample;    // a proposal
  std::optional<TaskId> task;         // an evaluation
  Cost reserve;
  std::string model;
};

// The state of a run as a fold over its events: the one place that says what each event means. Live runs, resumed runs and readers of
// journals go through the same Apply.
//
// What is decided outside of events (work that is given up after its last retry) changes nothing that a policy can see, and is decided
// again in the same way after a resume.
// Coordinator thread only.
class RunState {
 public:
  // DataLoss, naming the event, for one that is not legal here; the state is then unspecified.
  absl::Status Apply(const Event& event);
  void AdvanceTime(absl::Time now) { ledger_.Advance(now); }

  // The sample or evaluation will not be tried again.
  void GiveUp(const SampleKey& sample, Settle outcome);
  void GiveUp(TaskId task, Settle outcome);
  // The expansion policy has nothing for this sample.
  void Exhaust(const SampleKey& sample);

  const SearchGraph& graph() const { return graph_; }
  SearchGraph TakeGraph() && { return std::move(graph_); }
  const BudgetView& budget() const { return ledger_.view(); }
  const InFlightView& in_flight() const { return in_flight_; }
  const std::map<OrderKey, OpenOrder>& orders() const { return orders_; }
  const std::map<TaskId, EvaluationTask>& tasks() const { return tasks_; }
  const std::map<WorkId, Work>& works() const { return works_; }
  const std::set<SampleKey>& samples_to_do() const { return to_do_; }
  const std::set<NodeId>& confirmed() const { return confirmed_; }
  const std::set<std::string>& faulty_components() const { return faulty_; }
  // The order under which a work was dispatched, settled or not; nullopt for an evaluation without one.
  std::optional<SampleKey> SampleOf(WorkId work) const;

  bool started() const { return started_; }
  std::uint64_t seed() const { return seed_; }
  const std::string& specification() const { return specification_; }
  absl::Time start_time() const { return start_time_; }
  absl::Time last_time() const { return last_time_; }
  bool paused() const { return paused_; }
  const std::optional<StopRequested>& stop() const { return stop_; }
  const std::optional<std::string>& exhausted() const { return exhausted_; }
  const std::optional<std::string>& end_reason() const { return end_reason_; }

  EventSequence next_sequence() const { return EventSequence{next_sequence_}; }
  DecisionId next_decision() const { return DecisionId{next_decision_}; }
  WorkId next_work() const { return WorkId{sample_of_.size()}; }

 private:
  absl::Status Illegal(std::string what) const;
  absl::Status CheckNode(NodeId node) const;
  absl::StatusOr<Work> TakeWork(WorkId work, bool proposal);
  TaskId AddTask(EvaluationTask task);
  void RemoveTask(TaskId id, Settle outcome);
  void SetSample(const SampleKey& key, Sample::State state);
  OpenOrder* FindOrder(const std::optional<OrderKey>& key);
  void ShareCost(WorkId work, NodeId node);
  void ReviewChampion();

  absl::Status On(const RunStarted& event);
  absl::Status On(const RunResumed& event);
  absl::Status On(const RunEnded& event);
  absl::Status On(const DecisionMade& event);
  absl::Status On(const ProposalDispatched& event);
  absl::Status On(const ProposalFinished& event);
  absl::Status On(const NodeAdded& event);
  absl::Status On(const DuplicateDetected& event);
  absl::Status On(const EvaluationDispatched& event);
  absl::Status On(const EvaluationFinished& event);
  absl::Status On(const OrderSettled& event);
  absl::Status On(const Relabelled& event);
  absl::Status On(const NewChampion& event);
  absl::Status On(const LateResult& event);
  absl::Status On(const PolicyFault& event);
  absl::Status On(const StopRequested& event);
  absl::Status On(const Paused& event);
  absl::Status On(const Unpaused& event);
  absl::Status On(const NodeVetoed& event);
  absl::Status On(const BudgetChanged& event);
  absl::Status On(const HintAdded& event);

  // The event being applied.
  absl::Time now_ = absl::InfinitePast();
  std::uint64_t next_sequence_ = 1;

  SearchGraph graph_;
  BudgetLedger ledger_;
  InFlight in_flight_;
  std::map<OrderKey, OpenOrder> orders_;
  std::map<TaskId, EvaluationTask> tasks_;
  TaskId next_task_ = 0;
  std::map<WorkId, Work> works_;
  std::set<SampleKey> to_do_;
  std::vector<std::optional<SampleKey>> sample_of_;  // by work
  // Proposals that gave candidates, until their order settles: their cost is shared among the nodes they gave.
  struct PaidProposal {
    Cost cost;
    std::vector<NodeId> nodes;
  };
  absl::flat_hash_map<WorkId, PaidProposal> paid_;
  std::map<OrderKey, std::vector<WorkId>> paid_by_order_;
  std::set<NodeId> confirmed_;
  std::set<NodeId> troubled_;  // whose evaluation failed for the infrastructure, and has not succeeded since
  std::vector<NodeId> champions_;  // all, in order
  std::optional<Fidelity> scoring_fidelity_;  // that of the root's first evaluation

  bool started_ = false;
  std::uint64_t seed_ = 0;
  std::string specification_;
  absl::Time start_time_ = absl::InfinitePast();
  absl::Time last_time_ = absl::InfinitePast();
  bool paused_ = false;
  std::optional<StopRequested> stop_;
  std::optional<std::string> exhausted_;
  std::optional<std::string> end_reason_;
  std::set<std::string> faulty_;
  std::uint64_t next_decision_ = 1;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_SEARCH_RUN_STATE_H_
