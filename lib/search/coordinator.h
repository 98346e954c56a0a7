#ifndef MAXKERNEL_LIB_SEARCH_COORDINATOR_H_
#define MAXKERNEL_LIB_SEARCH_COORDINATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lib/search/mailbox.h"
#include "lib/search/policy_host.h"
#include "lib/search/run_state.h"
#include "lib/search/worker_pool.h"
#include "maxkernel/search.h"

namespace maxkernel {

// The engine. A turn of its loop takes in what has finished, lets policies decide, and commits everything that follows as one group
// before anything leaves the process: a crash loses whole turns, of which nobody outside has heard.
//
// State of two kinds: what events say is in RunState and survives a crash; everything here can be lost.
class Coordinator final : public Search {
 public:
  Coordinator(SearchOptions options, SearchParts parts);

  // Takes in what the journal holds. Before Run.
  absl::Status Replay();

  SearchResult Run() override;

  void Stop(std::string reason) override;
  void Abort(std::string reason) override;
  void Pause() override;
  void Unpause() override;
  absl::Status Inject(Candidate candidate, std::vector<NodeId> parents, std::string rationale) override;
  absl::Status Veto(NodeId node, VetoScope scope, std::string reason) override;
  void SetBudget(Budget budget) override;
  void AddHint(std::string text) override;

  const GraphView& graph() const override { return state_->graph(); }

 private:
  // A call into user code that has not returned.
  struct Call {
    std::optional<SampleKey> sample;   // a proposal
    std::shared_ptr<const ProposalDispatched> dispatched;
    std::optional<TaskId> task;        // an evaluation
    NodeId node{};                     // of the evaluation
    Fidelity fidelity = Fidelity::kEstimate;
    std::stop_source stop;
    absl::Time start;
    absl::Time deadline;
    bool settled = false;              // ended by cancellation or deadline; what it returns is late
  };
  enum class Pool : std::uint8_t { kExpand, kEvaluate };

  // coordinator_loop.cc
  bool Prepared();
  absl::Status DescribeEvaluator();
  void Begin();
  void SettleOrphans();
  bool Turn();
  void Wait();
  void TakeRequests();
  void TakeRequest(EventBody request);
  void AskStopPolicy();
  void CarryOutStop();
  void ForgetRetries();
  bool IsOver();
  bool IsIdle() const;
  void End(std::string reason);
  void EndForJournal(absl::Status status);
  SearchResult Result() const;
  void Emit(EventBody body);
  void TakeFaults(std::vector<PolicyFault> faults);
  void Fault(const char* component, const absl::Status& status);
  bool Commit();
  void Observe(const Event& event);
  void Suspend(absl::Status status);
  void OnApplied(const Event& event);

  // coordinator_decisions.cc
  void Decide();
  bool MayDecide();
  SlotCounts FreeSlots() const;
  std::size_t Calls(Pool pool) const;
  void CarryOutAtOnce(DecisionId decision, const std::vector<Order>& orders);
  void DispatchEvaluations();
  bool DispatchTask(TaskId id, const EvaluationTask& task);
  bool DispatchConfirmation(NodeId node);
  bool DispatchEvaluation(NodeId node, EvaluationPurpose purpose, const EvaluateOrder& details, std::optional<OrderKey> order,
                          std::uint32_t attempt, bool has_credit);
  void DispatchProposals();
  enum class Dispatch : std::uint8_t { kDone, kBlocked };
  Dispatch DispatchProposal(const SampleKey& key);
  bool Affordable(Cost cost);
  Cost HeldForConfirmation() const;
  Cost EvaluationReserve() const;
  std::string IdempotencyKey(NodeId node, EvaluationPurpose purpose, const EvaluateOrder& details,
                             const std::optional<OrderKey>& order) const;
  bool IsBackedUp() const;

  // coordinator_results.cc
  void TakeFinished();
  void TakeExpired();
  void TakeProposal(WorkId work, const Call& call, absl::StatusOr<ProposeResult> result, absl::Duration duration);
  void TakeLateProposal(WorkId work, const Call& call, absl::StatusOr<ProposeResult> result);
  void AddProposals(WorkId work, const Call& call, const ProposeResult& result, std::size_t limit);
  std::size_t AffordableNodes(const ProposeResult& result, const Cost& released) const;
  void TakeEvaluation(WorkId work, const Call& call, absl::StatusOr<Evaluation> result, absl::Duration duration);
  absl::StatusOr<std::optional<Score>> ScoreOf(NodeId node, const Evaluation& evaluation) const;
  void TakeProposalFailure(WorkId work, const SampleKey& sample, const absl::Status& status, absl::Duration duration);
  void TakeEvaluationFailure(WorkId work, const Call& call, const absl::Status& status, absl::Duration duration);
  void CountFailure(const absl::Status& status);
  void CountBarren(bool barren);
  absl::Duration RetryDelay(std::uint32_t failures) const;
  void Cancel(WorkId work, Call& call);
  void Conclude();
  void SettleOrders();
  void PromoteContenders();
  void CheckBaseline();

  SearchOptions options_;
  SearchParts parts_;
  bool confirms_ = false;
  PolicyHost policies_;
  Mailbox mailbox_;
  std::unique_ptr<RunState> state_ = std::make_unique<RunState>();
  std::atomic<std::uint64_t> known_nodes_{1};  // for controls from other threads; the root can be named from the start

  absl::Time now_ = absl::InfinitePast();
  std::vector<Event> group_;                   // applied, not committed
  std::vector<std::pair<Pool, std::function<void()>>> launches_;  // wait for the commit
  std::map<WorkId, Call> calls_;
  std::size_t proposal_calls_ = 0;
  std::map<SampleKey, std::shared_ptr<const ProposeRequest>> requests_;  // for retries
  std::map<SampleKey, absl::Time> retry_samples_;
  std::map<TaskId, absl::Time> retry_tasks_;
  std::uint32_t evaluate_workers_ = 1;
  std::unique_ptr<WorkerPool> expand_pool_;
  std::unique_ptr<WorkerPool> evaluate_pool_;

  std::map<Fidelity, std::shared_ptr<const Evaluation>> baselines_;  // the root's first, by fidelity
  std::set<NodeId> contenders_;                // valid and maybe better than the champion
  std::set<NodeId> unconfirmable_;
  std::optional<NodeId> to_confirm_;
  std::deque<absl::Duration> device_times_;    // of the latest evaluations

  std::uint64_t asked_at_ = 0;                 // sequence at which the selection policy answered kWait
  std::uint32_t idle_decisions_ = 0;           // in a row, without a dispatch
  std::uint32_t failures_in_a_row_ = 0;
  std::uint32_t barren_in_a_row_ = 0;          // proposals without a new candidate
  std::string blocked_by_;                     // the limit that stood in the way this turn
  std::optional<std::string> stuck_;
  std::optional<std::string> baseline_fault_;
  absl::Time stopped_waiting_ = absl::InfiniteFuture();  // for calls that ignore cancellation
  absl::Status suspended_;                     // the world's fault: end, but leave the run open
  absl::Status fault_;                         // a policy's
  std::vector<PolicyFault> replayed_faults_;
  bool journal_failed_ = false;
  std::string end_reason_;
  std::map<const SearchObserver*, int> observer_failures_;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_SEARCH_COORDINATOR_H_
