#include "lib/search/run_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/check.h"

namespace maxkernel {
namespace {

// Held for a node that waits for its first evaluation, so that nothing else takes the evaluation that it needs.
Cost EvaluationCredit() {
  Cost cost;
  cost.evaluations = 1;
  return cost;
}

// Part `index` of `count` equal parts; the parts add up to the whole.
std::int64_t Part(std::int64_t whole, std::int64_t index, std::int64_t count) {
  return whole * (index + 1) / count - whole * index / count;
}

Cost Part(const Cost& whole, std::size_t index, std::size_t count) {
  const auto i = static_cast<std::int64_t>(index);
  const auto n = static_cast<std::int64_t>(count);
  Cost part;
  part.input_tokens = Part(whole.input_tokens, i, n);
  part.cached_input_tokens = Part(whole.cached_input_tokens, i, n);
  part.output_tokens = Part(whole.output_tokens, i, n);
  part.microdollars = Part(whole.microdollars, i, n);
  part.evaluations = Part(whole.evaluations, i, n);
  part.nodes = Part(whole.nodes, i, n);
  part.device_time = absl::Nanoseconds(Part(absl::ToInt64Nanoseconds(whole.device_time), i, n));
  return part;
}

bool HasVerdict(Settle settle) { return settle == Settle::kOk || settle == Settle::kCandidateFailed; }
bool IsRetryable(Settle settle) { return settle == Settle::kInfrastructureFailed || settle == Settle::kLost; }

}  // namespace

absl::Status RunState::Apply(const Event& event) {
  if (ToNumber(event.sequence) != next_sequence_) {
    return absl::DataLossError(
        absl::StrCat("journal: event has sequence ", ToNumber(event.sequence), "; expected ", next_sequence_));
  }
  absl::Status status;
  if (started_ == std::holds_alternative<RunStarted>(event.body)) {
    status = Illegal(started_ ? "the run has started already" : "the first event must be run_started");
  } else if (end_reason_.has_value()) {
    status = Illegal("the run has ended");
  } else {
    now_ = std::max(event.time, last_time_);
    last_time_ = now_;
    if (std::holds_alternative<RunResumed>(event.body)) {
      ledger_.Skip(now_);
    } else {
      ledger_.Advance(now_);
    }
    status = std::visit([this](const auto& body) { return On(body); }, event.body);
  }
  if (!status.ok()) {
    return absl::DataLossError(absl::StrCat("journal: event ", ToNumber(event.sequence), " (",
                                            std::string(EventName(event.body)), "): ", std::string(status.message())));
  }
  ++next_sequence_;
  return absl::OkStatus();
}

absl::Status RunState::Illegal(std::string what) const { return absl::DataLossError(std::move(what)); }

absl::Status RunState::CheckNode(NodeId node) const {
  if (ToNumber(node) < graph_.size()) return absl::OkStatus();
  return Illegal(absl::StrCat("names node ", ToString(node), "; the graph has ", graph_.size(), " nodes"));
}

OpenOrder* RunState::FindOrder(const std::optional<OrderKey>& key) {
  if (!key.has_value()) return nullptr;
  const auto found = orders_.find(*key);
  return found == orders_.end() ? nullptr : &found->second;
}

std::optional<SampleKey> RunState::SampleOf(WorkId work) const {
  return ToNumber(work) < sample_of_.size() ? sample_of_[ToNumber(work)] : std::nullopt;
}

void RunState::SetSample(const SampleKey& key, Sample::State state) {
  OpenOrder* order = FindOrder(key.order);
  MAXKERNEL_CHECK(order != nullptr && key.sample < order->samples.size());
  order->samples[key.sample].state = state;
  if (state == Sample::State::kToDo) {
    to_do_.insert(key);
  } else {
    to_do_.erase(key);
  }
}

TaskId RunState::AddTask(EvaluationTask task) {
  if (task.purpose == EvaluationPurpose::kScore) ledger_.Reserve(EvaluationCredit());
  if (OpenOrder* order = FindOrder(task.order); order != nullptr) ++order->open_evaluations;
  in_flight_.BeginWaiting();
  tasks_.emplace(next_task_, std::move(task));
  return next_task_++;
}

void RunState::RemoveTask(TaskId id, Settle outcome) {
  const auto found = tasks_.find(id);
  MAXKERNEL_CHECK(found != tasks_.end() && !found->second.in_flight);
  const EvaluationTask& task = found->second;
  if (task.purpose == EvaluationPurpose::kScore) ledger_.Release(EvaluationCredit());
  in_flight_.EndWaiting();
  if (OpenOrder* order = FindOrder(task.order); order != nullptr) {
    --order->open_evaluations;
    order->last_outcome = outcome;
  }
  tasks_.erase(found);
}

void RunState::GiveUp(const SampleKey& sample, Settle outcome) {
  SetSample(sample, Sample::State::kDone);
  FindOrder(sample.order)->last_outcome = outcome;
}

void RunState::GiveUp(TaskId task, Settle outcome) { RemoveTask(task, outcome); }

void RunState::Exhaust(const SampleKey& sample) {
  SetSample(sample, Sample::State::kDone);
  FindOrder(sample.order)->exhausted = true;
}

absl::StatusOr<Work> RunState::TakeWork(WorkId id, bool proposal) {
  const auto found = works_.find(id);
  if (found == works_.end()) return Illegal(absl::StrCat("work ", ToNumber(id), " is not in flight"));
  if (found->second.sample.has_value() != proposal) {
    return Illegal(absl::StrCat("work ", ToNumber(id), " is not ", proposal ? "a proposal" : "an evaluation"));
  }
  Work work = std::move(found->second);
  works_.erase(found);
  ledger_.Release(work.reserve);
  return work;
}

absl::Status RunState::On(const RunStarted& event) {
  started_ = true;
  seed_ = event.seed;
  specification_ = event.specification;
  start_time_ = now_;
  ledger_.SetLimits(event.budget);
  ledger_.Activate(now_);
  return absl::OkStatus();
}

absl::Status RunState::On(const RunResumed& event) {
  for (WorkId orphan : event.orphans) {
    if (!works_.contains(orphan)) return Illegal(absl::StrCat("orphan ", ToNumber(orphan), " is not in flight"));
  }
  return absl::OkStatus();
}

absl::Status RunState::On(const RunEnded& event) {
  if (!works_.empty()) return Illegal(absl::StrCat("work ", ToNumber(works_.begin()->first), " is in flight"));
  if (!orders_.empty()) {
    return Illegal(absl::StrCat("an order of decision ", ToNumber(orders_.begin()->first.decision), " has not settled"));
  }
  end_reason_ = event.reason;
  ledger_.Deactivate(now_);
  return absl::OkStatus();
}

absl::Status RunState::On(const DecisionMade& event) {
  if (ToNumber(event.decision) != next_decision_) {
    return Illegal(absl::StrCat("decision id is ", ToNumber(event.decision), "; expected ", next_decision_));
  }
  ++next_decision_;
  if (event.answer.kind == Decision::Kind::kExhausted) exhausted_ = event.answer.why;
  for (std::uint32_t index = 0; index < event.answer.orders.size(); ++index) {
    const OrderKey key{event.decision, index};
    OpenOrder& open = orders_[key];
    open.order = event.answer.orders[index];
    if (const auto* expand = std::get_if<ExpandOrder>(&open.order)) {
      for (NodeId parent : expand->parents) {
        if (absl::Status status = CheckNode(parent); !status.ok()) return status;
      }
      in_flight_.OpenOrder(*expand);
      open.samples.resize(expand->samples);
      for (std::uint32_t sample = 0; sample < expand->samples; ++sample) to_do_.insert({key, sample});
    } else if (const auto* evaluate = std::get_if<EvaluateOrder>(&open.order)) {
      if (absl::Status status = CheckNode(evaluate->node); !status.ok()) return status;
      EvaluationTask task;
      task.node = evaluate->node;
      task.purpose = EvaluationPurpose::kOrder;
      task.order = key;
      task.details = *evaluate;
      AddTask(std::move(task));
    }
  }
  return absl::OkStatus();
}

absl::Status RunState::On(const ProposalDispatched& event) {
  if (event.work != next_work()) {
    return Illegal(absl::StrCat("work id is ", ToNumber(event.work), "; expected ", ToNumber(next_work())));
  }
  const SampleKey key{{event.decision, event.order_index}, event.sample};
  if (!to_do_.contains(key)) {
    return Illegal(absl::StrCat("sample ", event.sample, " of order ", event.order_index, " of decision ",
                                ToNumber(event.decision), " is not waiting to be dispatched"));
  }
  SetSample(key, Sample::State::kInFlight);
  Sample& sample = FindOrder(key.order)->samples[key.sample];
  ++sample.attempts;
  sample.latest = std::make_shared<const ProposalDispatched>(event);
  sample_of_.emplace_back(key);
  works_.emplace(event.work, Work{key, std::nullopt, event.reserve, event.model});
  ledger_.Reserve(event.reserve);
  in_flight_.BeginProposal(event.model);
  return absl::OkStatus();
}

absl::Status RunState::On(const ProposalFinished& event) {
  const absl::StatusOr<Work> work = TakeWork(event.work, true);
  if (!work.ok()) return work.status();
  in_flight_.EndProposal(work->model);
  ledger_.Spend(event.cost);
  const SampleKey& key = *work->sample;
  OpenOrder* order = FindOrder(key.order);
  order->last_outcome = event.settle;
  if (IsRetryable(event.settle)) {
    if (event.settle == Settle::kInfrastructureFailed) ++order->samples[key.sample].failures;
    SetSample(key, Sample::State::kToDo);
    return absl::OkStatus();
  }
  SetSample(key, Sample::State::kDone);
  if (event.settle == Settle::kOk) {
    paid_.emplace(event.work, PaidProposal{event.cost, {}});
    paid_by_order_[key.order].push_back(event.work);
  }
  return absl::OkStatus();
}

void RunState::ShareCost(WorkId work, NodeId node) {
  const auto found = paid_.find(work);
  if (found == paid_.end()) return;
  PaidProposal& paid = found->second;
  for (std::size_t i = 0; i < paid.nodes.size(); ++i) graph_.SubtractCost(paid.nodes[i], Part(paid.cost, i, paid.nodes.size()));
  paid.nodes.push_back(node);
  for (std::size_t i = 0; i < paid.nodes.size(); ++i) graph_.AddCost(paid.nodes[i], Part(paid.cost, i, paid.nodes.size()));
}

absl::Status RunState::On(const NodeAdded& event) {
  if (ToNumber(event.node) != graph_.size()) {
    return Illegal(absl::StrCat("node id is ", ToNumber(event.node), "; expected ", graph_.size()));
  }
  if (event.candidate == nullptr) return Illegal("the node has no candidate");
  for (NodeId parent : event.parents) {
    if (absl::Status status = CheckNode(parent); !status.ok()) return status;
  }
  if (const std::optional<NodeId> existing = graph_.Find(event.candidate->content_hash()); existing.has_value()) {
    return Illegal(absl::StrCat("node ", ToString(*existing), " holds this candidate already"));
  }
  std::optional<SampleKey> sample;
  if (event.work.has_value()) {
    sample = SampleOf(*event.work);
    if (!sample.has_value()) return Illegal(absl::StrCat("work ", ToNumber(*event.work), " is no proposal"));
  }
  graph_.Add(event);
  Cost cost;
  cost.nodes = 1;
  ledger_.Spend(cost);
  if (event.work.has_value()) ShareCost(*event.work, event.node);

  EvaluationTask task;
  task.node = event.node;
  if (sample.has_value()) {
    if (OpenOrder* order = FindOrder(sample->order); order != nullptr) {
      order->children.push_back(event.node);
      task.order = sample->order;
      // A late candidate makes the retry that was waiting unnecessary.
      if (order->samples[sample->sample].state == Sample::State::kToDo) SetSample(*sample, Sample::State::kDone);
    }
  }
  if (graph_.node(event.node).state == NodeState::kPending) AddTask(std::move(task));
  return absl::OkStatus();
}

absl::Status RunState::On(const DuplicateDetected& event) {
  if (absl::Status status = CheckNode(event.existing); !status.ok()) return status;
  const std::optional<SampleKey> sample = SampleOf(event.work);
  if (!sample.has_value()) return Illegal(absl::StrCat("work ", ToNumber(event.work), " is no proposal"));
  if (graph_.node(event.existing).state != NodeState::kBroken) return absl::OkStatus();
  // The evaluator could not say; somebody wants the candidate again, so it gets another chance.
  graph_.SetProgress(event.existing, NodeState::kPending);
  EvaluationTask task;
  task.node = event.existing;
  if (FindOrder(sample->order) != nullptr) task.order = sample->order;
  AddTask(std::move(task));
  return absl::OkStatus();
}

absl::Status RunState::On(const EvaluationDispatched& event) {
  if (event.work != next_work()) {
    return Illegal(absl::StrCat("work id is ", ToNumber(event.work), "; expected ", ToNumber(next_work())));
  }
  if (absl::Status status = CheckNode(event.node); !status.ok()) return status;
  std::optional<OrderKey> order;
  if (event.decision.has_value()) order = OrderKey{*event.decision, event.order_index};
  auto task = std::find_if(tasks_.begin(), tasks_.end(), [&](const auto& entry) {
    const EvaluationTask& waiting = entry.second;
    return !waiting.in_flight && waiting.node == event.node && waiting.purpose == event.purpose && waiting.order == order;
  });
  if (task == tasks_.end()) {
    if (event.purpose != EvaluationPurpose::kConfirm) {
      return Illegal(absl::StrCat("node ", ToString(event.node), " is not waiting for this evaluation"));
    }
    EvaluationTask confirm;
    confirm.node = event.node;
    confirm.purpose = event.purpose;
    task = tasks_.find(AddTask(std::move(confirm)));
  }
  if (task->second.purpose == EvaluationPurpose::kScore) ledger_.Release(EvaluationCredit());
  if (event.node == kRootNode && !scoring_fidelity_.has_value()) scoring_fidelity_ = event.fidelity;
  in_flight_.EndWaiting();
  in_flight_.BeginEvaluation();
  ledger_.Reserve(event.reserve);
  task->second.in_flight = true;
  ++task->second.attempts;
  if (event.purpose == EvaluationPurpose::kScore) graph_.SetProgress(event.node, NodeState::kEvaluating);
  sample_of_.emplace_back(std::nullopt);
  works_.emplace(event.work, Work{std::nullopt, task->first, event.reserve, {}});
  return absl::OkStatus();
}

absl::Status RunState::On(const EvaluationFinished& event) {
  const absl::StatusOr<Work> work = TakeWork(event.work, false);
  if (!work.ok()) return work.status();
  if (HasVerdict(event.settle) != event.evaluation.has_value()) {
    return Illegal(absl::StrCat("an evaluation is ", event.evaluation.has_value() ? "present" : "absent", " with settle ",
                                std::string(ToString(event.settle))));
  }
  EvaluationTask& task = tasks_.at(*work->task);
  if (task.node != event.node) return Illegal(absl::StrCat("work ", ToNumber(event.work), " is of another node"));
  in_flight_.EndEvaluation();
  in_flight_.BeginWaiting();
  task.in_flight = false;
  if (task.purpose == EvaluationPurpose::kScore) ledger_.Reserve(EvaluationCredit());
  ledger_.Spend(event.cost);
  graph_.AddCost(event.node, event.cost);

  if (IsRetryable(event.settle)) {
    if (event.settle == Settle::kInfrastructureFailed) {
      ++task.failures;
      troubled_.insert(event.node);
    }
    if (task.purpose == EvaluationPurpose::kScore) {
      const bool broken = event.settle == Settle::kInfrastructureFailed && FindOrder(task.order) == nullptr;
      graph_.SetProgress(event.node, broken ? NodeState::kBroken : NodeState::kPending);
    }
    return absl::OkStatus();
  }
  Settle outcome = event.settle;
  if (HasVerdict(event.settle)) {
    troubled_.erase(event.node);
    const bool scoring = event.evaluation->fidelity == scoring_fidelity_;
    graph_.RecordEvaluation(event.node, std::make_shared<const Evaluation>(*event.evaluation), event.score,
                            scoring ? SearchGraph::Relevance::kScoring : SearchGraph::Relevance::kOther);
    if (scoring && graph_.node(event.node).state != NodeState::kValid) outcome = Settle::kCandidateFailed;
    if (task.purpose == EvaluationPurpose::kConfirm) confirmed_.insert(event.node);
    ReviewChampion();
  } else if (task.purpose == EvaluationPurpose::kScore) {
    graph_.SetProgress(event.node, NodeState::kPending);
  }
  RemoveTask(*work->task, outcome);
  return absl::OkStatus();
}

absl::Status RunState::On(const OrderSettled& event) {
  const OrderKey key{event.decision, event.order_index};
  const auto found = orders_.find(key);
  if (found == orders_.end()) {
    return Illegal(absl::StrCat("order ", event.order_index, " of decision ", ToNumber(event.decision), " is not open"));
  }
  OpenOrder& open = found->second;
  for (std::uint32_t i = 0; i < open.samples.size(); ++i) {
    if (open.samples[i].state == Sample::State::kInFlight) return Illegal(absl::StrCat("sample ", i, " is in flight"));
    to_do_.erase({key, i});
  }
  std::vector<TaskId> unfinished;
  for (const auto& [id, task] : tasks_) {
    if (task.order != key) continue;
    if (task.in_flight) return Illegal(absl::StrCat("the evaluation of ", ToString(task.node), " is in flight"));
    unfinished.push_back(id);
  }
  for (TaskId id : unfinished) RemoveTask(id, Settle::kCancelled);

  bool fruitful = false;
  for (NodeId child : event.children) {
    if (absl::Status status = CheckNode(child); !status.ok()) return status;
    const Node& node = graph_.node(child);
    fruitful = fruitful || node.state == NodeState::kValid;
    if (node.state == NodeState::kPending && troubled_.contains(child)) graph_.SetProgress(child, NodeState::kBroken);
  }
  if (const auto* expand = std::get_if<ExpandOrder>(&open.order)) {
    in_flight_.CloseOrder(*expand);
    if (!expand->parents.empty()) graph_.RecordOrder(expand->parents.front(), fruitful);
    if (event.exhausted && expand->parents.size() == 1) {
      graph_.MarkExhausted(expand->parents.front(), expand->operator_name);
    }
  }
  if (const auto paid = paid_by_order_.find(key); paid != paid_by_order_.end()) {
    for (WorkId work : paid->second) paid_.erase(work);
    paid_by_order_.erase(paid);
  }
  orders_.erase(found);
  return absl::OkStatus();
}

absl::Status RunState::On(const Relabelled& event) {
  if (absl::Status status = CheckNode(event.node); !status.ok()) return status;
  graph_.Relabel(event.node, event.branch, event.mode);
  return absl::OkStatus();
}

absl::Status RunState::On(const NewChampion& event) {
  if (absl::Status status = CheckNode(event.node); !status.ok()) return status;
  if (graph_.node(event.node).state != NodeState::kValid) {
    return Illegal(absl::StrCat("node ", ToString(event.node), " is not valid"));
  }
  champions_.push_back(event.node);
  graph_.SetChampion(event.node);
  return absl::OkStatus();
}

// The champion of before, if the present one was vetoed or found wrong.
void RunState::ReviewChampion() {
  while (!champions_.empty() && graph_.node(champions_.back()).state != NodeState::kValid) champions_.pop_back();
  graph_.SetChampion(champions_.empty() ? std::nullopt : std::optional<NodeId>(champions_.back()));
}

absl::Status RunState::On(const LateResult& event) {
  if (event.work >= next_work()) return Illegal(absl::StrCat("work ", ToNumber(event.work), " was never dispatched"));
  if (works_.contains(event.work)) return Illegal(absl::StrCat("work ", ToNumber(event.work), " is still in flight"));
  ledger_.Spend(event.cost);
  // Never cleaned up: such results are few.
  if (SampleOf(event.work).has_value()) paid_.emplace(event.work, PaidProposal{event.cost, {}});
  return absl::OkStatus();
}

absl::Status RunState::On(const PolicyFault& event) {
  faulty_.insert(event.component);
  return absl::OkStatus();
}

absl::Status RunState::On(const StopRequested& event) {
  stop_ = event;
  return absl::OkStatus();
}

absl::Status RunState::On(const Paused&) {
  paused_ = true;
  ledger_.Deactivate(now_);
  return absl::OkStatus();
}

absl::Status RunState::On(const Unpaused&) {
  paused_ = false;
  ledger_.Activate(now_);
  return absl::OkStatus();
}

absl::Status RunState::On(const NodeVetoed& event) {
  if (absl::Status status = CheckNode(event.node); !status.ok()) return status;
  graph_.Veto(event.node, event.subtree);
  std::vector<TaskId> pointless;
  for (const auto& [id, task] : tasks_) {
    if (!task.in_flight && task.purpose != EvaluationPurpose::kOrder && graph_.node(task.node).state == NodeState::kVetoed) {
      pointless.push_back(id);
    }
  }
  for (TaskId id : pointless) RemoveTask(id, Settle::kCancelled);
  ReviewChampion();
  return absl::OkStatus();
}

absl::Status RunState::On(const BudgetChanged& event) {
  ledger_.SetLimits(event.budget);
  return absl::OkStatus();
}

absl::Status RunState::On(const HintAdded&) { return absl::OkStatus(); }

}  // namespace maxkernel
