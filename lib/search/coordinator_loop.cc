#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/search/coordinator.h"
#include "lib/search/user_code.h"
#include "maxkernel/internal/check.h"

namespace maxkernel {
namespace {

// For calls into user code that do not return after they were cancelled; arbitrary.
constexpr absl::Duration kCancelGrace = absl::Seconds(30);

bool IsNoisy(Fidelity fidelity) { return fidelity == Fidelity::kCpu || fidelity == Fidelity::kDevice; }

std::string JoinNames(const std::vector<Fidelity>& fidelities) {
  std::string names;
  for (Fidelity fidelity : fidelities) absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(ToString(fidelity)));
  return names.empty() ? "none" : names;
}

}  // namespace

Coordinator::Coordinator(SearchOptions options, SearchParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      confirms_(options_.confirm.value_or(IsNoisy(options_.fidelity))),
      policies_(std::move(parts_.stop), std::move(parts_.selection), std::move(parts_.expansion)) {
  if (parts_.objective == nullptr) parts_.objective = MakeGeometricMeanSpeedup();
}

absl::Status Coordinator::Replay() {
  const absl::Status status = parts_.journal->ForEach([this](const Event& event) -> absl::Status {
    if (const auto* node = std::get_if<NodeAdded>(&event.body);
        node != nullptr && node->node == kRootNode && node->candidate != nullptr &&
        node->candidate->content_hash() != parts_.baseline->content_hash()) {
      return absl::FailedPreconditionError("the journal's run started from another baseline");
    }
    if (absl::Status applied = state_->Apply(event); !applied.ok()) return applied;
    if (const auto* started = std::get_if<RunStarted>(&event.body)) policies_.set_seed(started->seed);
    if (const auto* fault = std::get_if<PolicyFault>(&event.body)) policies_.Silence(fault->component);
    OnApplied(event);
    for (PolicyFault& fault : policies_.Deliver(event, state_->graph())) replayed_faults_.push_back(std::move(fault));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (state_->end_reason().has_value()) {
    return absl::FailedPreconditionError(absl::StrCat("the journal's run has ended: ", *state_->end_reason()));
  }
  known_nodes_ = std::max<std::uint64_t>(1, state_->graph().size());
  return absl::OkStatus();
}

SearchResult Coordinator::Run() {
  if (Prepared()) {
    Begin();
    while (!Turn()) Wait();
    for (auto& [work, call] : calls_) call.stop.request_stop();
    expand_pool_.reset();
    evaluate_pool_.reset();
  }
  return Result();
}

bool Coordinator::Prepared() {
  now_ = parts_.clock->Now();
  if (suspended_ = policies_.FindProposer(); !suspended_.ok()) {
    end_reason_ = std::string(suspended_.message());
    return false;
  }
  if (suspended_ = DescribeEvaluator(); !suspended_.ok()) {
    end_reason_ = absl::StrCat("evaluator: ", std::string(suspended_.message()));
    return false;
  }
  expand_pool_ = std::make_unique<WorkerPool>(options_.expand_workers);
  evaluate_pool_ = std::make_unique<WorkerPool>(evaluate_workers_);
  return true;
}

absl::Status Coordinator::DescribeEvaluator() {
  absl::StatusOr<EvaluatorInfo> info = absl::UnknownError("");
  for (std::uint32_t attempt = 0; attempt <= options_.retries; ++attempt) {
    if (attempt > 0) {
      const absl::Time until = parts_.clock->Now() + RetryDelay(attempt);
      while (parts_.clock->Now() < until) parts_.clock->Wait(mailbox_.signal(), until, 0);
    }
    info = CallUserCode("evaluator", [&] { return parts_.evaluator->Describe(); });
    if (info.ok()) break;
  }
  if (!info.ok()) return info.status();
  if (std::find(info->fidelities.begin(), info->fidelities.end(), options_.fidelity) == info->fidelities.end()) {
    return absl::FailedPreconditionError(absl::StrCat(info->name, " does not offer the fidelity ",
                                                      std::string(ToString(options_.fidelity)), "; it offers ",
                                                      JoinNames(info->fidelities)));
  }
  evaluate_workers_ = options_.evaluate_workers.value_or(info->capacity + 1);
  return absl::OkStatus();
}

void Coordinator::Begin() {
  now_ = std::max(parts_.clock->Now(), state_->last_time());
  if (!state_->started()) {
    policies_.set_seed(options_.seed);
    Emit(RunStarted{options_.seed, options_.budget, options_.specification});
  } else {
    SettleOrphans();
  }
  if (state_->graph().size() == 0) {
    NodeAdded root;
    root.operator_name = "baseline";
    root.candidate = parts_.baseline;
    Emit(std::move(root));
  }
  std::vector<PolicyFault> faults;
  for (PolicyFault& fault : replayed_faults_) {
    if (!state_->faulty_components().contains(fault.component)) faults.push_back(std::move(fault));
  }
  TakeFaults(std::move(faults));
  // The moment of the last answer is not known any more.
  asked_at_ = 0;
}

void Coordinator::SettleOrphans() {
  std::vector<WorkId> orphans;
  std::map<WorkId, Work> works = state_->works();
  for (const auto& [id, work] : works) orphans.push_back(id);
  Emit(RunResumed{orphans});
  for (const auto& [id, work] : works) {
    if (work.sample.has_value()) {
      ProposalFinished lost;
      lost.work = id;
      lost.settle = Settle::kLost;
      // Probably paid for, and nobody knows how much.
      lost.cost = work.reserve;
      lost.cost.nodes = lost.cost.evaluations = 0;
      lost.cost.device_time = absl::ZeroDuration();
      lost.detail = "in flight when the process ended";
      Emit(std::move(lost));
    } else {
      EvaluationFinished lost;
      lost.work = id;
      lost.node = state_->tasks().at(*work.task).node;
      lost.settle = Settle::kLost;
      lost.detail = "in flight when the process ended";
      Emit(std::move(lost));
    }
  }
  const std::set<SampleKey> to_do = state_->samples_to_do();
  for (const SampleKey& key : to_do) {
    if (state_->orders().at(key.order).samples[key.sample].failures > options_.retries) {
      state_->GiveUp(key, Settle::kInfrastructureFailed);
    }
  }
  const std::map<TaskId, EvaluationTask> tasks = state_->tasks();
  for (const auto& [id, task] : tasks) {
    if (task.failures <= options_.retries || task.node == kRootNode) continue;
    if (task.purpose == EvaluationPurpose::kConfirm) unconfirmable_.insert(task.node);
    state_->GiveUp(id, Settle::kInfrastructureFailed);
  }
}

bool Coordinator::Turn() {
  now_ = std::max(parts_.clock->Now(), now_);
  state_->AdvanceTime(now_);
  blocked_by_.clear();
  TakeRequests();
  TakeFinished();
  TakeExpired();
  Conclude();
  CheckBaseline();
  AskStopPolicy();
  CarryOutStop();
  ForgetRetries();
  DispatchEvaluations();
  DispatchProposals();
  Conclude();
  Decide();
  if (!Commit()) return true;
  return IsOver();
}

void Coordinator::Wait() {
  absl::Time until = stopped_waiting_;
  for (const auto& [work, call] : calls_) {
    if (!call.settled) until = std::min(until, call.deadline);
  }
  if (!state_->stop().has_value()) {
    for (const auto& [sample, time] : retry_samples_) {
      if (time > now_) until = std::min(until, time);
    }
  }
  for (const auto& [task, time] : retry_tasks_) {
    if (time > now_) until = std::min(until, time);
  }
  parts_.clock->Wait(mailbox_.signal(), until, calls_.size());
}

void Coordinator::TakeRequests() {
  for (EventBody& request : mailbox_.TakeRequests()) TakeRequest(std::move(request));
}

void Coordinator::TakeRequest(EventBody request) {
  if (auto* node = std::get_if<NodeAdded>(&request)) {
    if (state_->graph().Find(node->candidate->content_hash()).has_value()) return;
    node->node = NodeId{state_->graph().size()};
  } else if (const auto* stop = std::get_if<StopRequested>(&request)) {
    const std::optional<StopRequested>& before = state_->stop();
    if (before.has_value() && (before->mode == StopRequested::Mode::kCancel || stop->mode == before->mode)) return;
  } else if (std::holds_alternative<Paused>(request)) {
    if (state_->paused()) return;
  } else if (std::holds_alternative<Unpaused>(request)) {
    if (!state_->paused()) return;
  }
  const bool is_veto = std::holds_alternative<NodeVetoed>(request);
  Emit(std::move(request));
  if (!is_veto) return;
  // What is being evaluated in vain.
  for (auto& [work, call] : calls_) {
    if (call.task.has_value() && !call.settled && state_->graph().node(call.node).state == NodeState::kVetoed) Cancel(work, call);
  }
}

void Coordinator::AskStopPolicy() {
  if (!policies_.has_stop_policy() || state_->stop().has_value() || !suspended_.ok()) return;
  const absl::StatusOr<StopVerdict> verdict = policies_.Check({state_->graph(), state_->budget(), now_});
  if (!verdict.ok()) return Fault(kStopPolicy, verdict.status());
  if (verdict->kind == StopVerdict::Kind::kContinue) return;
  const bool drain = verdict->kind == StopVerdict::Kind::kDrain;
  Emit(StopRequested{drain ? StopRequested::Mode::kDrain : StopRequested::Mode::kCancel, verdict->reason});
}

// Gives up what a stop makes pointless. Evaluations of existing nodes are finished, unless everything is to be cancelled.
void Coordinator::CarryOutStop() {
  if (!state_->stop().has_value()) return;
  const bool cancel = state_->stop()->mode == StopRequested::Mode::kCancel;
  const std::set<SampleKey> to_do = state_->samples_to_do();
  for (const SampleKey& key : to_do) state_->GiveUp(key, Settle::kCancelled);
  if (cancel) {
    for (auto& [work, call] : calls_) {
      if (!call.settled) Cancel(work, call);
    }
    const std::map<TaskId, EvaluationTask> tasks = state_->tasks();
    for (const auto& [id, task] : tasks) state_->GiveUp(id, Settle::kCancelled);
    const std::set<SampleKey> left = state_->samples_to_do();
    for (const SampleKey& key : left) state_->GiveUp(key, Settle::kCancelled);
  }
  Conclude();
}

// Of what was given up or vetoed meanwhile.
void Coordinator::ForgetRetries() {
  std::erase_if(retry_samples_, [&](const auto& entry) { return !state_->samples_to_do().contains(entry.first); });
  std::erase_if(retry_tasks_, [&](const auto& entry) { return !state_->tasks().contains(entry.first); });
}

bool Coordinator::IsIdle() const {
  if (!state_->works().empty() || !calls_.empty()) return false;
  return state_->samples_to_do().empty() && state_->tasks().empty();
}

bool Coordinator::IsOver() {
  const bool nothing_in_flight = state_->works().empty();
  if (!nothing_in_flight) {
    stopped_waiting_ = absl::InfiniteFuture();
    return false;
  }
  if (!calls_.empty()) {
    // Cancelled or late, and still running: what they return is recorded if it comes soon.
    if (stopped_waiting_ == absl::InfiniteFuture()) stopped_waiting_ = now_ + kCancelGrace;
    if (now_ < stopped_waiting_) return false;
    if (suspended_.ok() && !state_->stop().has_value()) {
      Suspend(absl::UnavailableError(absl::StrCat(calls_.size(), " calls did not return within ",
                                                  absl::FormatDuration(kCancelGrace), " of their deadline")));
    }
  }
  stopped_waiting_ = absl::InfiniteFuture();

  if (!suspended_.ok()) {
    end_reason_ = std::string(suspended_.message());
    return true;
  }
  std::optional<std::string> reason;
  if (baseline_fault_.has_value()) {
    reason = baseline_fault_;
  } else if (state_->stop().has_value() && (blocked_by_.empty() ? state_->tasks().empty() : true)) {
    reason = state_->stop()->reason;
  } else if (!retry_tasks_.empty() || (!retry_samples_.empty() && blocked_by_.empty())) {
    return false;
  } else if (state_->paused()) {
    return false;
  } else if (!blocked_by_.empty()) {
    reason = absl::StrCat("budget: ", blocked_by_);
  } else if (state_->exhausted().has_value()) {
    reason = absl::StrCat("exhausted: ", *state_->exhausted());
  } else if (stuck_.has_value()) {
    reason = absl::StrCat("stuck: ", *stuck_);
  } else if (IsIdle()) {
    reason = "stuck: nothing is in flight";
  }
  if (!reason.has_value()) return false;
  End(*reason);
  return true;
}

void Coordinator::End(std::string reason) {
  const std::set<SampleKey> to_do = state_->samples_to_do();
  for (const SampleKey& key : to_do) state_->GiveUp(key, Settle::kCancelled);
  const std::map<TaskId, EvaluationTask> tasks = state_->tasks();
  for (const auto& [id, task] : tasks) state_->GiveUp(id, Settle::kCancelled);
  SettleOrders();
  end_reason_ = reason;
  Emit(RunEnded{std::move(reason), state_->graph().champion()});
  Commit();
}

SearchResult Coordinator::Result() const {
  SearchResult result;
  result.reason = end_reason_;
  result.best = state_->graph().champion();
  if (result.best.has_value()) result.best_score = state_->graph().node(*result.best).score;
  result.cost = state_->budget().spent;
  result.nodes = state_->graph().size();
  if (!suspended_.ok()) {
    result.status = suspended_;
  } else if (!fault_.ok()) {
    result.status = fault_;
  } else if (baseline_fault_.has_value()) {
    result.status = absl::FailedPreconditionError(*baseline_fault_);
  }
  return result;
}

void Coordinator::Emit(EventBody body) {
  Event event{state_->next_sequence(), now_, std::move(body)};
  const absl::Status applied = state_->Apply(event);
  MAXKERNEL_CHECK(applied.ok());
  OnApplied(event);
  std::vector<PolicyFault> faults = policies_.Deliver(event, state_->graph());
  group_.push_back(std::move(event));
  TakeFaults(std::move(faults));
}

// What the coordinator derives from events, live or replayed.
void Coordinator::OnApplied(const Event& event) {
  if (std::holds_alternative<NodeAdded>(event.body)) {
    known_nodes_ = state_->graph().size();
  } else if (std::holds_alternative<NodeVetoed>(event.body)) {
    // The champion may be a worse one now.
    const auto ranked = state_->graph().ranked();
    contenders_.insert(ranked.begin(), ranked.end());
  } else if (const auto* finished = std::get_if<EvaluationFinished>(&event.body)) {
    if (!finished->evaluation.has_value()) return;
    if (finished->node == kRootNode && finished->score.has_value()) {
      baselines_.emplace(finished->evaluation->fidelity, state_->graph().node(kRootNode).evaluation);
    }
    contenders_.insert(finished->node);
    device_times_.push_back(finished->evaluation->device_time);
    if (device_times_.size() > 20) device_times_.pop_front();
  }
}

void Coordinator::TakeFaults(std::vector<PolicyFault> faults) {
  for (PolicyFault& fault : faults) {
    fault_ = absl::InternalError(fault.detail);
    const std::string detail = fault.detail;
    Emit(std::move(fault));
    if (!state_->stop().has_value()) {
      Emit(StopRequested{StopRequested::Mode::kDrain, absl::StrCat("policy fault: ", detail)});
    }
  }
}

void Coordinator::Fault(const char* component, const absl::Status& status) {
  policies_.Silence(component);
  TakeFaults({PolicyFault{component, std::string(status.message())}});
  fault_ = status;
}

bool Coordinator::Commit() {
  if (journal_failed_) return false;
  if (!group_.empty()) {
    const absl::Status status = parts_.journal->Append(group_);
    if (!status.ok()) {
      EndForJournal(status);
      return false;
    }
    // Observers may take the group's place: none of them can emit.
    const std::vector<Event> committed = std::exchange(group_, {});
    for (const Event& event : committed) Observe(event);
  }
  for (auto& [pool, job] : launches_) (pool == Pool::kExpand ? expand_pool_ : evaluate_pool_)->Submit(std::move(job));
  launches_.clear();
  return true;
}

void Coordinator::Observe(const Event& event) {
  for (SearchObserver* observer : parts_.observers) {
    int& failures = observer_failures_[observer];
    if (failures >= 3) continue;
    const absl::Status status = CallUserCode("observer", [&] {
      observer->OnEvent({event, state_->graph(), state_->budget()});
      return absl::OkStatus();
    });
    if (!status.ok()) ++failures;
  }
}

// What is not in the journal never was: the state becomes what the journal says.
void Coordinator::EndForJournal(absl::Status status) {
  journal_failed_ = true;
  group_.clear();
  launches_.clear();
  suspended_ = absl::Status(status.code(), absl::StrCat("journal: ", std::string(status.message())));
  end_reason_ = std::string(suspended_.message());
  auto durable = std::make_unique<RunState>();
  const absl::Status replayed = parts_.journal->ForEach([&](const Event& event) { return durable->Apply(event); });
  if (replayed.ok()) state_ = std::move(durable);
}

// Ends the run for a fault of the world, without a RunEnded: it can be resumed.
void Coordinator::Suspend(absl::Status status) {
  if (suspended_.ok()) suspended_ = std::move(status);
}

void Coordinator::Stop(std::string reason) { mailbox_.Post(StopRequested{StopRequested::Mode::kDrain, std::move(reason)}); }
void Coordinator::Abort(std::string reason) { mailbox_.Post(StopRequested{StopRequested::Mode::kCancel, std::move(reason)}); }
void Coordinator::Pause() { mailbox_.Post(Paused{}); }
void Coordinator::Unpause() { mailbox_.Post(Unpaused{}); }
void Coordinator::SetBudget(Budget budget) { mailbox_.Post(BudgetChanged{budget}); }
void Coordinator::AddHint(std::string text) { mailbox_.Post(HintAdded{std::move(text)}); }

absl::Status Coordinator::Inject(Candidate candidate, std::vector<NodeId> parents, std::string rationale) {
  for (NodeId parent : parents) {
    if (ToNumber(parent) >= known_nodes_) {
      return absl::NotFoundError(absl::StrCat("inject: parent ", ToString(parent), " is not in the graph"));
    }
  }
  NodeAdded node;
  node.parents = std::move(parents);
  node.operator_name = "human";
  node.rationale = std::move(rationale);
  node.candidate = std::make_shared<const Candidate>(std::move(candidate));
  mailbox_.Post(std::move(node));
  return absl::OkStatus();
}

absl::Status Coordinator::Veto(NodeId node, VetoScope scope, std::string reason) {
  if (ToNumber(node) >= known_nodes_) {
    return absl::NotFoundError(absl::StrCat("veto: node ", ToString(node), " is not in the graph"));
  }
  mailbox_.Post(NodeVetoed{node, scope == VetoScope::kSubtree, std::move(reason)});
  return absl::OkStatus();
}

}  // namespace maxkernel
