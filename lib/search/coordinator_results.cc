#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/search/coordinator.h"
#include "lib/search/user_code.h"

namespace maxkernel {
namespace {

bool IsRetryable(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

// Nodes and evaluations are counted by the engine alone.
Cost ProposalCost(Cost cost) {
  cost.nodes = 0;
  cost.evaluations = 0;
  return cost;
}

absl::Status CheckProposals(const ProposeResult& result) {
  for (const Proposal& proposal : result.proposals) {
    if (proposal.candidate == nullptr) return absl::InternalError("the proposer returned a proposal without a candidate");
  }
  return absl::OkStatus();
}

absl::Status CheckEvaluation(const Evaluation& evaluation, Fidelity fidelity) {
  if (evaluation.fidelity == fidelity) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the evaluator answered at fidelity ", std::string(ToString(evaluation.fidelity)),
                                          "; it was asked for ", std::string(ToString(fidelity))));
}

std::string FirstError(const Evaluation& evaluation) {
  for (const StageReport& stage : evaluation.stages) {
    for (const Diagnostic& diagnostic : stage.diagnostics) {
      if (diagnostic.severity == Severity::kError) return diagnostic.message;
    }
  }
  return evaluation.reason;
}

std::string WhyNoTime(const Evaluation& evaluation) {
  for (const CaseResult& result : evaluation.cases) {
    if (!result.absent.empty()) return absl::StrCat("case ", result.name, ": ", result.absent);
  }
  return "no case has a time";
}

}  // namespace

void Coordinator::TakeFinished() {
  for (FinishedWork& finished : mailbox_.TakeFinished()) {
    const auto found = calls_.find(finished.work);
    const Call call = std::move(found->second);
    calls_.erase(found);
    if (call.sample.has_value()) --proposal_calls_;
    const absl::Duration duration = std::max(absl::ZeroDuration(), finished.end - call.start);
    if (auto* proposal = std::get_if<absl::StatusOr<ProposeResult>>(&finished.result)) {
      if (call.settled) {
        TakeLateProposal(finished.work, call, std::move(*proposal));
      } else {
        TakeProposal(finished.work, call, std::move(*proposal), duration);
      }
      continue;
    }
    auto& evaluation = std::get<absl::StatusOr<Evaluation>>(finished.result);
    if (!call.settled) {
      TakeEvaluation(finished.work, call, std::move(evaluation), duration);
    } else if (evaluation.ok()) {
      Cost cost;
      cost.device_time = evaluation->device_time;
      Emit(LateResult{finished.work, cost, absl::StrCat("evaluation: ", std::string(ToString(evaluation->verdict)))});
    }
  }
}

// Deadlines do not depend on whether a call returns.
void Coordinator::TakeExpired() {
  for (auto& [work, call] : calls_) {
    if (call.settled || call.deadline > now_) continue;
    call.settled = true;
    call.stop.request_stop();
    const absl::Status status =
        absl::DeadlineExceededError(absl::StrCat("no answer within ", absl::FormatDuration(call.deadline - call.start)));
    if (call.sample.has_value()) {
      TakeProposalFailure(work, *call.sample, status, now_ - call.start);
    } else {
      TakeEvaluationFailure(work, call, status, now_ - call.start);
    }
  }
}

// How many new nodes of a result the budget allows once what was reserved for it is released. The first one was reserved for.
std::size_t Coordinator::AffordableNodes(const ProposeResult& result, const Cost& released) const {
  BudgetView budget = state_->budget();
  budget.reserved -= released;
  budget.spent += ProposalCost(result.cost);
  const bool has_reservation = released.nodes > 0;
  std::size_t count = 0;
  while (count < result.proposals.size()) {
    Cost node = HeldForConfirmation();
    node.nodes += 1;
    node.evaluations += 1;
    if ((count > 0 || !has_reservation) && !budget.Allows(node)) break;
    node -= HeldForConfirmation();
    budget.spent += node;
    ++count;
  }
  return count;
}

void Coordinator::TakeProposal(WorkId work, const Call& call, absl::StatusOr<ProposeResult> result, absl::Duration duration) {
  if (result.ok()) {
    if (absl::Status status = CheckProposals(*result); !status.ok()) result = status;
  }
  if (!result.ok()) return TakeProposalFailure(work, *call.sample, result.status(), duration);
  failures_in_a_row_ = 0;
  requests_.erase(*call.sample);

  ProposalFinished event;
  event.work = work;
  event.cost = ProposalCost(result->cost);
  event.duration = duration;
  event.notes = result->notes;
  const std::size_t limit = AffordableNodes(*result, state_->works().at(work).reserve);
  std::set<std::string> fresh;
  for (const Proposal& proposal : result->proposals) {
    if (!state_->graph().Find(proposal.candidate->content_hash()).has_value()) fresh.insert(proposal.candidate->content_hash());
  }
  if (result->proposals.empty()) {
    event.settle = Settle::kCandidateFailed;
    event.detail = result->failure.empty() ? "no proposal, and no reason given" : result->failure;
  } else if (fresh.empty()) {
    event.settle = Settle::kDuplicate;
    event.detail = "the candidate exists already";
  } else if (fresh.size() > limit) {
    event.detail = absl::StrCat("the budget has room for ", limit, " of ", fresh.size(), " candidates");
  }
  Emit(std::move(event));
  CountBarren(fresh.empty());
  AddProposals(work, call, *result, limit);
}

void Coordinator::CountBarren(bool barren) {
  barren_in_a_row_ = barren ? barren_in_a_row_ + 1 : 0;
  if (options_.barren_after == 0 || barren_in_a_row_ < options_.barren_after || state_->stop().has_value()) return;
  Emit(StopRequested{StopRequested::Mode::kDrain,
                     absl::StrCat("barren: ", barren_in_a_row_, " proposals in a row gave no new candidate")});
}

void Coordinator::AddProposals(WorkId work, const Call& call, const ProposeResult& result, std::size_t limit) {
  const ProposalDispatched& origin = *call.dispatched;
  for (const Proposal& proposal : result.proposals) {
    if (const auto existing = state_->graph().Find(proposal.candidate->content_hash()); existing.has_value()) {
      Emit(DuplicateDetected{work, *existing});
      continue;
    }
    if (limit == 0) continue;
    --limit;
    NodeAdded node;
    node.node = NodeId{state_->graph().size()};
    node.parents = origin.parents;
    node.operator_name = origin.operator_name;
    node.branch = origin.branch;
    node.model = origin.model;
    node.rationale = proposal.rationale;
    node.tunables = proposal.tunables;
    node.work = work;
    node.candidate = proposal.candidate;
    Emit(std::move(node));
  }
}

// The candidate was paid for: it may still become a node.
void Coordinator::TakeLateProposal(WorkId work, const Call& call, absl::StatusOr<ProposeResult> result) {
  if (!result.ok() || !CheckProposals(*result).ok()) return;
  const std::size_t limit = AffordableNodes(*result, Cost());
  Emit(LateResult{work, ProposalCost(result->cost), absl::StrCat(result->proposals.size(), " proposals")});
  AddProposals(work, call, *result, limit);
}

void Coordinator::TakeProposalFailure(WorkId work, const SampleKey& sample, const absl::Status& status, absl::Duration duration) {
  ProposalFinished event;
  event.work = work;
  event.settle = Settle::kInfrastructureFailed;
  event.duration = duration;
  event.detail = status.ToString();
  Emit(std::move(event));
  const std::uint32_t failures = state_->orders().at(sample.order).samples[sample.sample].failures;
  if (IsRetryable(status) && failures <= options_.retries && !state_->stop().has_value()) {
    retry_samples_[sample] = now_ + RetryDelay(failures);
  } else {
    state_->GiveUp(sample, Settle::kInfrastructureFailed);
    requests_.erase(sample);
  }
  CountFailure(status);
}

absl::StatusOr<std::optional<Score>> Coordinator::ScoreOf(NodeId node, const Evaluation& evaluation) const {
  const auto found = baselines_.find(evaluation.fidelity);
  if (node != kRootNode && found == baselines_.end()) return std::nullopt;
  const Evaluation& baseline = found == baselines_.end() ? evaluation : *found->second;
  absl::StatusOr<std::optional<Score>> score =
      CallUserCode("objective", [&]() -> absl::StatusOr<std::optional<Score>> {
        return parts_.objective->Evaluate(baseline, evaluation);
      });
  if (!score.ok() || !score->has_value()) return score;
  const Score& value = **score;
  if (std::isfinite(value.value) && std::isfinite(value.low) && std::isfinite(value.high)) return score;
  return absl::InternalError("objective: the score is not finite");
}

void Coordinator::TakeEvaluation(WorkId work, const Call& call, absl::StatusOr<Evaluation> result, absl::Duration duration) {
  if (result.ok()) {
    if (absl::Status status = CheckEvaluation(*result, call.fidelity); !status.ok()) result = status;
  }
  absl::StatusOr<std::optional<Score>> score = std::nullopt;
  if (result.ok() && result->verdict == Verdict::kCorrect) score = ScoreOf(call.node, *result);
  if (!score.ok()) result = score.status();
  if (!result.ok()) return TakeEvaluationFailure(work, call, result.status(), duration);
  failures_in_a_row_ = 0;

  EvaluationFinished event;
  event.work = work;
  event.node = call.node;
  event.settle = result->verdict == Verdict::kCorrect ? Settle::kOk : Settle::kCandidateFailed;
  event.score = *score;
  event.cost.evaluations = result->from_cache ? 0 : 1;
  event.cost.device_time = result->device_time;
  event.duration = duration;
  event.detail = result->verdict == Verdict::kCorrect ? "" : FirstError(*result);
  event.evaluation = *std::move(result);
  Emit(std::move(event));
}

void Coordinator::TakeEvaluationFailure(WorkId work, const Call& call, const absl::Status& status, absl::Duration duration) {
  const TaskId task = *call.task;
  EvaluationFinished event;
  event.work = work;
  event.node = call.node;
  event.settle = Settle::kInfrastructureFailed;
  event.duration = duration;
  event.detail = status.ToString();
  Emit(std::move(event));
  const EvaluationTask& state = state_->tasks().at(task);
  if (IsRetryable(status) && state.failures <= options_.retries) {
    retry_tasks_[task] = now_ + RetryDelay(state.failures);
  } else if (call.node == kRootNode && !baselines_.contains(options_.fidelity)) {
    Suspend(absl::Status(status.code(), absl::StrCat("the baseline could not be evaluated: ", std::string(status.message()))));
  } else {
    if (state.purpose == EvaluationPurpose::kConfirm) unconfirmable_.insert(call.node);
    state_->GiveUp(task, Settle::kInfrastructureFailed);
  }
  CountFailure(status);
}

void Coordinator::CountFailure(const absl::Status& status) {
  ++failures_in_a_row_;
  if (options_.give_up_after == 0 || failures_in_a_row_ < options_.give_up_after) return;
  Suspend(absl::UnavailableError(absl::StrCat(failures_in_a_row_, " infrastructure failures in a row, the last: ",
                                              status.ToString())));
}

absl::Duration Coordinator::RetryDelay(std::uint32_t failures) const {
  constexpr std::uint32_t kMaximumDoublings = 16;
  return options_.retry_delay * (std::int64_t{1} << std::min(std::max(failures, 1U) - 1, kMaximumDoublings));
}

void Coordinator::Cancel(WorkId work, Call& call) {
  call.settled = true;
  call.stop.request_stop();
  if (call.sample.has_value()) {
    ProposalFinished event;
    event.work = work;
    event.settle = Settle::kCancelled;
    event.duration = now_ - call.start;
    event.detail = "cancelled";
    requests_.erase(*call.sample);
    Emit(std::move(event));
  } else {
    EvaluationFinished event;
    event.work = work;
    event.node = call.node;
    event.settle = Settle::kCancelled;
    event.duration = now_ - call.start;
    event.detail = "cancelled";
    Emit(std::move(event));
  }
}

// What follows from what has been applied.
void Coordinator::Conclude() {
  SettleOrders();
  PromoteContenders();
}

void Coordinator::SettleOrders() {
  std::vector<OrderSettled> settled;
  for (const auto& [key, open] : state_->orders()) {
    if (open.open_evaluations > 0 || std::holds_alternative<CancelOrder>(open.order) ||
        std::holds_alternative<RelabelOrder>(open.order)) {
      continue;
    }
    const bool done = std::all_of(open.samples.begin(), open.samples.end(),
                                  [](const Sample& sample) { return sample.state == Sample::State::kDone; });
    if (!done) continue;
    OrderSettled event;
    event.decision = key.decision;
    event.order_index = key.order_index;
    event.children = open.children;
    event.exhausted = open.exhausted;
    const bool is_expansion = std::holds_alternative<ExpandOrder>(open.order);
    const bool fruitful = std::any_of(open.children.begin(), open.children.end(), [&](NodeId child) {
      return state_->graph().node(child).state == NodeState::kValid;
    });
    event.settle = fruitful ? Settle::kOk : open.last_outcome.value_or(Settle::kCandidateFailed);
    if (is_expansion && !fruitful && event.settle == Settle::kOk) event.settle = Settle::kCandidateFailed;
    settled.push_back(std::move(event));
  }
  for (OrderSettled& event : settled) {
    std::erase_if(requests_, [&](const auto& entry) {
      return entry.first.order == OrderKey{event.decision, event.order_index};
    });
    Emit(std::move(event));
  }
}

// Makes the best contender the champion: at once where times are exact, after a second look where they are noisy.
void Coordinator::PromoteContenders() {
  to_confirm_.reset();
  while (true) {
    const std::optional<NodeId> champion = state_->graph().champion();
    std::optional<NodeId> best;
    std::erase_if(contenders_, [&](NodeId id) {
      const Node& node = state_->graph().node(id);
      if (node.state != NodeState::kValid || unconfirmable_.contains(id)) return true;
      if (champion.has_value() && (id == *champion || node.score->low <= state_->graph().node(*champion).score->low)) return true;
      return false;
    });
    std::optional<NodeId> best_unconfirmed;
    for (NodeId id : contenders_) {
      const bool counts = !confirms_ || id == kRootNode || state_->confirmed().contains(id);
      std::optional<NodeId>& slot = counts ? best : best_unconfirmed;
      if (!slot.has_value() || state_->graph().node(id).score->low > state_->graph().node(*slot).score->low) slot = id;
    }
    if (best.has_value()) {
      Emit(NewChampion{*best, *state_->graph().node(*best).score});
      continue;
    }
    if (!best_unconfirmed.has_value()) return;
    for (const auto& [id, task] : state_->tasks()) {
      if (task.purpose == EvaluationPurpose::kConfirm && task.node == *best_unconfirmed) return;
    }
    to_confirm_ = best_unconfirmed;
    return;
  }
}

void Coordinator::CheckBaseline() {
  if (baselines_.contains(options_.fidelity) || baseline_fault_.has_value()) return;
  const Node& root = state_->graph().node(kRootNode);
  if (root.state == NodeState::kFailed) {
    baseline_fault_ = absl::StrCat("the baseline is not correct: ", std::string(ToString(root.evaluation->verdict)), ": ",
                                   FirstError(*root.evaluation));
  } else if (root.state == NodeState::kUnscored) {
    baseline_fault_ = absl::StrCat("the baseline is correct but has no score: ", WhyNoTime(*root.evaluation));
  } else if (root.state == NodeState::kVetoed) {
    baseline_fault_ = "the baseline was vetoed before it had a score";
  }
}

}  // namespace maxkernel
