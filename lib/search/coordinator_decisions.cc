#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/search/coordinator.h"
#include "lib/search/user_code.h"

namespace maxkernel {
namespace {

// A policy that decides this often without any work coming of it will do so for ever; arbitrary.
constexpr std::uint32_t kMaximumIdleDecisions = 1000;

// The least that a new candidate costs.
Cost CandidateCost() {
  Cost cost;
  cost.nodes = 1;
  cost.evaluations = 1;
  return cost;
}

// What is reserved for nodes that wait for their first evaluation.
std::int64_t WaitingCredits(const RunState& state) {
  std::int64_t credits = 0;
  for (const auto& [id, task] : state.tasks()) {
    if (!task.in_flight && task.purpose == EvaluationPurpose::kScore) ++credits;
  }
  return credits;
}

std::string ReplyKey(const SampleKey& key) {
  return absl::StrCat("d", ToNumber(key.order.decision), "/o", key.order.order_index, "/s", key.sample);
}

}  // namespace

void Coordinator::Decide() {
  while (MayDecide()) {
    const SlotCounts free = FreeSlots();
    if (free.expand == 0 && free.evaluate == 0) return;
    if (asked_at_ == ToNumber(state_->next_sequence()) && !IsIdle()) return;
    const DecisionId id = state_->next_decision();
    const auto ask = [&] {
      return policies_.Select({id, state_->graph(), state_->in_flight(), state_->budget(), free, now_,
                               KeyedRandom(state_->seed(), RandomStream::kSelect, ToNumber(id))});
    };
    absl::StatusOr<Decision> decision = ask();
    if (decision.ok() && decision->kind == Decision::Kind::kWait && IsIdle()) decision = ask();
    if (!decision.ok()) return Fault(kSelectionPolicy, decision.status());
    if (decision->kind == Decision::Kind::kWait) {
      asked_at_ = ToNumber(state_->next_sequence());
      if (IsIdle()) stuck_ = absl::StrCat("the selection policy waits with nothing in flight (", decision->why, ")");
      return;
    }
    const WorkId before = state_->next_work();
    const std::vector<Order> orders = decision->orders;
    Emit(DecisionMade{id, *std::move(decision), free});
    CarryOutAtOnce(id, orders);
    DispatchEvaluations();
    DispatchProposals();
    Conclude();
    idle_decisions_ = state_->next_work() == before ? idle_decisions_ + 1 : 0;
    if (idle_decisions_ >= kMaximumIdleDecisions) {
      stuck_ = absl::StrCat(kMaximumIdleDecisions, " decisions in a row led to no work");
    }
  }
}

bool Coordinator::MayDecide() {
  if (state_->paused() || state_->stop().has_value() || state_->exhausted().has_value() || stuck_.has_value()) return false;
  if (!suspended_.ok() || baseline_fault_.has_value() || !baselines_.contains(options_.fidelity)) return false;
  // What was decided before comes first, unless it waits for a retry.
  for (const SampleKey& key : state_->samples_to_do()) {
    if (!retry_samples_.contains(key)) return false;
  }
  return Affordable(CandidateCost());
}

std::size_t Coordinator::Calls(Pool pool) const {
  return pool == Pool::kExpand ? proposal_calls_ : calls_.size() - proposal_calls_;
}

bool Coordinator::IsBackedUp() const { return state_->in_flight().waiting_evaluations() >= options_.evaluation_queue; }

SlotCounts Coordinator::FreeSlots() const {
  SlotCounts free;
  if (!IsBackedUp() && Calls(Pool::kExpand) < options_.expand_workers) {
    free.expand = options_.expand_workers - static_cast<std::uint32_t>(Calls(Pool::kExpand));
  }
  const std::size_t taken = Calls(Pool::kEvaluate) + state_->in_flight().waiting_evaluations();
  if (taken < evaluate_workers_) free.evaluate = evaluate_workers_ - static_cast<std::uint32_t>(taken);
  return free;
}

// Notes the limit that stands in the way.
bool Coordinator::Affordable(Cost cost) {
  cost += HeldForConfirmation();
  return state_->budget().Allows(cost, &blocked_by_);
}

// So that the last good node can still become the champion.
Cost Coordinator::HeldForConfirmation() const {
  Cost cost;
  cost.evaluations = confirms_ ? 1 : 0;
  return cost;
}

// Device time is estimated by the longest of the latest evaluations.
Cost Coordinator::EvaluationReserve() const {
  Cost cost;
  cost.evaluations = 1;
  for (absl::Duration time : device_times_) cost.device_time = std::max(cost.device_time, time);
  return cost;
}

void Coordinator::CarryOutAtOnce(DecisionId decision, const std::vector<Order>& orders) {
  for (std::uint32_t index = 0; index < orders.size(); ++index) {
    if (const auto* relabel = std::get_if<RelabelOrder>(&orders[index])) {
      Emit(Relabelled{relabel->node, relabel->branch, relabel->mode});
    } else if (const auto* cancel = std::get_if<CancelOrder>(&orders[index])) {
      const auto call = calls_.find(cancel->work);
      if (call != calls_.end() && !call->second.settled) Cancel(call->first, call->second);
    } else {
      continue;
    }
    Emit(OrderSettled{decision, index, Settle::kOk, {}, false});
  }
}

void Coordinator::DispatchEvaluations() {
  if (!suspended_.ok() || baseline_fault_.has_value()) return;
  if (state_->stop().has_value() && state_->stop()->mode == StopRequested::Mode::kCancel) return;
  if (to_confirm_.has_value() && Calls(Pool::kEvaluate) < evaluate_workers_) {
    if (DispatchConfirmation(*to_confirm_)) to_confirm_.reset();
  }
  std::vector<TaskId> ready;
  const bool root_is_scored = baselines_.contains(options_.fidelity);
  for (const auto& [id, task] : state_->tasks()) {
    if (ready.size() + Calls(Pool::kEvaluate) >= evaluate_workers_) break;
    if (task.in_flight || (!root_is_scored && task.node != kRootNode)) continue;
    const auto retry = retry_tasks_.find(id);
    if (retry == retry_tasks_.end() || retry->second <= now_) ready.push_back(id);
  }
  for (TaskId id : ready) {
    if (!DispatchTask(id, state_->tasks().at(id))) return;
    retry_tasks_.erase(id);
  }
}

bool Coordinator::DispatchTask(TaskId id, const EvaluationTask& task) {
  EvaluateOrder details = task.details;
  if (task.purpose != EvaluationPurpose::kOrder) {
    details.node = task.node;
    details.fidelity = options_.fidelity;
    details.repeats = options_.repeats;
  }
  static_cast<void>(id);
  return DispatchEvaluation(task.node, task.purpose, details, task.order, task.attempts,
                            task.purpose == EvaluationPurpose::kScore);
}

bool Coordinator::DispatchConfirmation(NodeId node) {
  EvaluateOrder details;
  details.node = node;
  details.fidelity = options_.fidelity;
  details.repeats = options_.repeats;
  return DispatchEvaluation(node, EvaluationPurpose::kConfirm, details, std::nullopt, 0, false);
}

bool Coordinator::DispatchEvaluation(NodeId node, EvaluationPurpose purpose, const EvaluateOrder& details,
                                     std::optional<OrderKey> order, std::uint32_t attempt, bool has_credit) {
  const Cost reserve = EvaluationReserve();
  Cost missing = reserve;
  BudgetView budget = state_->budget();
  // The node has a reservation of its own. Those of other nodes do not count either: a budget that was lowered below what waits is still
  // there to be spent.
  if (has_credit) budget.reserved.evaluations -= WaitingCredits(*state_);
  if (purpose == EvaluationPurpose::kOrder) missing += HeldForConfirmation();
  if (!budget.Allows(missing, &blocked_by_)) return false;

  EvaluationDispatched event;
  event.work = state_->next_work();
  event.node = node;
  event.fidelity = details.fidelity;
  event.repeats = details.repeats;
  event.purpose = purpose;
  if (order.has_value()) {
    event.decision = order->decision;
    event.order_index = order->order_index;
  }
  event.attempt = attempt;
  event.paired = details.paired;
  event.idempotency_key = IdempotencyKey(node, purpose, details, order);
  event.reserve = reserve;

  auto request = std::make_shared<EvaluateRequest>();
  request->idempotency_key = event.idempotency_key;
  request->candidate = state_->graph().node(node).candidate;
  if (details.paired.has_value()) request->paired = state_->graph().node(*details.paired).candidate;
  request->fidelity = details.fidelity;
  request->repeats = details.repeats;
  // The same inputs for all first evaluations, others for whoever looks again.
  KeyedRandom seed(state_->seed(), RandomStream::kPropose, purpose == EvaluationPurpose::kScore ? 0 : ToNumber(node) + 1);
  request->seed = (std::uint64_t{seed.NextUint32()} << 32) | seed.NextUint32();

  const WorkId work = event.work;
  Emit(std::move(event));
  Call call;
  call.task = *state_->works().at(work).task;
  call.node = node;
  call.fidelity = details.fidelity;
  call.start = now_;
  call.deadline = now_ + options_.evaluation_deadline;
  const std::stop_token stop = call.stop.get_token();
  const absl::Time deadline = call.deadline;
  calls_.emplace(work, std::move(call));
  launches_.emplace_back(Pool::kEvaluate, [this, work, request, stop, deadline] {
    absl::StatusOr<Evaluation> result =
        CallUserCode("evaluator", [&] { return parts_.evaluator->Evaluate({*request, stop, deadline, {}}); });
    mailbox_.Post(FinishedWork{work, std::move(result), parts_.clock->Now()});
  });
  return true;
}

// Unique to the run, equal for all attempts of one evaluation and across resumes.
std::string Coordinator::IdempotencyKey(NodeId node, EvaluationPurpose purpose, const EvaluateOrder& details,
                                        const std::optional<OrderKey>& order) const {
  std::string text = absl::StrCat(state_->seed(), "\n", absl::ToUnixNanos(state_->start_time()), "\n",
                                  Sha256Hex(state_->specification()), "\n",
                                  state_->graph().node(node).candidate->content_hash(), "\n",
                                  std::string(ToString(details.fidelity)), "\n", details.repeats, "\n",
                                  std::string(ToString(purpose)), "\n");
  if (details.paired.has_value()) absl::StrAppend(&text, state_->graph().node(*details.paired).candidate->content_hash());
  if (purpose == EvaluationPurpose::kOrder) absl::StrAppend(&text, "\n", ToNumber(order->decision), "\n", order->order_index);
  return Sha256Hex(text);
}

void Coordinator::DispatchProposals() {
  if (!suspended_.ok() || baseline_fault_.has_value() || state_->paused() || state_->stop().has_value()) return;
  const std::set<SampleKey> to_do = state_->samples_to_do();
  for (const SampleKey& key : to_do) {
    if (IsBackedUp() || Calls(Pool::kExpand) >= options_.expand_workers || state_->stop().has_value()) return;
    const auto retry = retry_samples_.find(key);
    if (retry != retry_samples_.end() && retry->second > now_) continue;
    if (DispatchProposal(key) == Dispatch::kBlocked) return;
    retry_samples_.erase(key);
  }
}

Coordinator::Dispatch Coordinator::DispatchProposal(const SampleKey& key) {
  const OpenOrder& open = state_->orders().at(key.order);
  const ExpandOrder& order = std::get<ExpandOrder>(open.order);
  const Sample& sample = open.samples[key.sample];
  const std::uint64_t address = SampleAddress(key.order.decision, key.order.order_index, key.sample);

  std::shared_ptr<const ProposeRequest> request;
  if (const auto kept = requests_.find(key); kept != requests_.end()) {
    request = kept->second;
  } else {
    absl::StatusOr<std::optional<ProposeRequest>> prepared = policies_.Prepare(
        {key.order.decision, key.order.order_index, key.sample, order, state_->graph(), state_->budget(),
         KeyedRandom(state_->seed(), RandomStream::kPrepare, address), sample.latest.get()});
    if (!prepared.ok()) {
      Fault(kExpansionPolicy, prepared.status());
      return Dispatch::kBlocked;
    }
    if (!prepared->has_value()) {
      state_->Exhaust(key);
      return Dispatch::kDone;
    }
    request = std::make_shared<const ProposeRequest>(**std::move(prepared));
  }

  ProposalDispatched event;
  event.reserve = request->reserve;
  event.reserve.nodes = 1;
  event.reserve.evaluations = 1;
  if (!Affordable(event.reserve)) return Dispatch::kBlocked;
  event.work = state_->next_work();
  event.decision = key.order.decision;
  event.order_index = key.order.order_index;
  event.sample = key.sample;
  event.attempt = sample.attempts;
  event.parents = order.parents;
  event.operator_name = request->operator_name;
  event.branch = order.branch;
  event.model = request->model;
  event.parameters = request->parameters;
  const WorkId work = event.work;
  Emit(std::move(event));
  requests_[key] = request;

  Call call;
  call.sample = key;
  call.dispatched = sample.latest;
  call.start = now_;
  call.deadline = now_ + options_.proposal_deadline;
  const std::stop_token stop = call.stop.get_token();
  const absl::Time deadline = call.deadline;
  calls_.emplace(work, std::move(call));
  ++proposal_calls_;
  launches_.emplace_back(Pool::kExpand, [this, work, request, key, stop, deadline, address, seed = state_->seed()] {
    absl::StatusOr<ProposeResult> result = CallUserCode("proposer", [&] {
      return policies_.proposer()->Propose({*request, ReplyKey(key), parts_.journal->replies(), stop, deadline,
                                            KeyedRandom(seed, RandomStream::kPropose, address)});
    });
    mailbox_.Post(FinishedWork{work, std::move(result), parts_.clock->Now()});
  });
  return Dispatch::kDone;
}

}  // namespace maxkernel
