#include <algorithm>
#include <stop_token>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/testing/contract_run.h"
#include "maxkernel/testing/contract.h"
#include "maxkernel/testing/fake_evaluator.h"

namespace maxkernel {
namespace {

constexpr std::uint64_t kSeed = 7;

bool AreEqual(const ProposeRequest& a, const ProposeRequest& b) {
  return a.operator_name == b.operator_name && a.model == b.model && a.parameters == b.parameters && a.payload == b.payload &&
         a.reserve == b.reserve && a.parents.size() == b.parents.size() &&
         std::equal(a.parents.begin(), a.parents.end(), b.parents.begin(),
                    [](const ParentContext& x, const ParentContext& y) { return x.node == y.node; });
}

std::vector<std::string> HashesOf(const absl::StatusOr<ProposeResult>& result) {
  std::vector<std::string> hashes;
  if (!result.ok()) return {result.status().ToString()};
  for (const Proposal& proposal : result->proposals) {
    hashes.push_back(proposal.candidate == nullptr ? "none" : proposal.candidate->content_hash());
  }
  if (hashes.empty()) hashes.push_back(result->failure);
  return hashes;
}

// Plays the engine's part, one order after the other, for two policies at once.
class Play {
 public:
  Play(const std::function<std::unique_ptr<ExpansionPolicy>()>& make, const ExpansionContractOptions& options,
       std::vector<std::string>& violations)
      : policy_(make()), fresh_(make()), options_(options), violations_(violations) {}

  void Run() {
    if (policy_->operators().empty()) Violate("operators() is empty");
    Tell(RunStarted{kSeed, {}, {}});
    AddNode(options_.baseline, std::nullopt, {});
    for (std::uint32_t i = 0; i < options_.orders && violations_.empty(); ++i) {
      if (!Order(NodeId{i % fold_.state().graph().size()})) break;
    }
    if (violations_.empty()) CheckCancellation();
  }

 private:
  void Violate(std::string what) { violations_.push_back(std::move(what)); }

  void Tell(EventBody body) {
    const Event event{fold_.state().next_sequence(), absl::FromUnixSeconds(1'700'000'000), std::move(body)};
    if (!fold_.Apply(event)) return Violate(absl::StrCat("the suite made an event that is not legal: ", std::string(EventName(event.body))));
    policy_->OnEvent(fold_.ArgsOf(event));
    fresh_->OnEvent(fold_.ArgsOf(event));
  }

  // False: exhausted, or something is wrong.
  bool Order(NodeId parent) {
    DecisionMade decision;
    decision.decision = fold_.state().next_decision();
    ExpandOrder order;
    order.parents = {parent};
    decision.answer = Decision::Orders({order}, "contract");
    Tell(decision);
    const std::optional<ProposeRequest> request = Prepare(decision.decision, order);
    OrderSettled settled;
    settled.decision = decision.decision;
    if (!request.has_value()) {
      settled.settle = Settle::kCandidateFailed;
      settled.exhausted = true;
      Tell(settled);
      return false;
    }
    ProposalDispatched dispatched;
    dispatched.work = fold_.state().next_work();
    dispatched.decision = decision.decision;
    dispatched.parents = order.parents;
    dispatched.operator_name = request->operator_name;
    dispatched.model = request->model;
    dispatched.parameters = request->parameters;
    Tell(dispatched);
    const absl::StatusOr<ProposeResult> result = Propose(*request, decision.decision);
    ProposalFinished finished;
    finished.work = dispatched.work;
    finished.settle = !result.ok() ? Settle::kCancelled : result->proposals.empty() ? Settle::kCandidateFailed : Settle::kOk;
    if (result.ok()) finished.notes = result->notes;
    Tell(finished);
    if (result.ok()) {
      for (const Proposal& proposal : result->proposals) {
        if (fold_.state().graph().Find(proposal.candidate->content_hash()).has_value()) continue;
        settled.children.push_back(NodeId{fold_.state().graph().size()});
        AddNode(proposal.candidate, dispatched.work, {parent});
      }
    }
    Tell(settled);
    return violations_.empty();
  }

  void AddNode(std::shared_ptr<const Candidate> candidate, std::optional<WorkId> work, std::vector<NodeId> parents) {
    NodeAdded node;
    node.node = NodeId{fold_.state().graph().size()};
    node.parents = std::move(parents);
    node.work = work;
    node.candidate = std::move(candidate);
    Tell(node);
    EvaluationDispatched dispatched;
    dispatched.work = fold_.state().next_work();
    dispatched.node = node.node;
    if (const auto sample = work.has_value() ? fold_.state().SampleOf(*work) : std::nullopt; sample.has_value()) {
      dispatched.decision = sample->order.decision;
    }
    Tell(dispatched);
    EvaluationFinished finished;
    finished.work = dispatched.work;
    finished.node = node.node;
    finished.evaluation = MakeTimedEvaluation({1});
    finished.score = Score{1, 1, 1, Fidelity::kEstimate};
    Tell(std::move(finished));
  }

  std::optional<ProposeRequest> Prepare(DecisionId decision, const ExpandOrder& order) {
    const PrepareArgs args{decision, 0,      0, order, fold_.state().graph(), fold_.state().budget(),
                           KeyedRandom(kSeed, RandomStream::kPrepare, ToNumber(decision)), nullptr};
    const absl::StatusOr<std::optional<ProposeRequest>> first = policy_->Prepare(args);
    if (!first.ok()) {
      Violate(absl::StrCat("Prepare failed: ", first.status().ToString()));
      return std::nullopt;
    }
    for (const auto* policy : {policy_.get(), fresh_.get()}) {
      const absl::StatusOr<std::optional<ProposeRequest>> again = policy->Prepare(args);
      const bool equal = again.ok() && again->has_value() == first->has_value() && (!first->has_value() || AreEqual(**first, **again));
      if (!equal) Violate("Prepare answers differently when it is asked again, or by another policy that was told the same events");
    }
    if (!first->has_value()) return std::nullopt;
    const std::vector<std::string> operators = policy_->operators();
    if (std::find(operators.begin(), operators.end(), (*first)->operator_name) == operators.end()) {
      Violate(absl::StrCat("a request has the operator '", (*first)->operator_name, "', which is not among operators()"));
    }
    return **first;
  }

  absl::StatusOr<ProposeResult> Call(const ProposeRequest& request, DecisionId decision, Journal& journal, std::stop_token stop) {
    return policy_->proposer().Propose({request, absl::StrCat("d", ToNumber(decision), "/o0/s0"), journal.replies(), stop,
                                        absl::Now() + absl::Minutes(5),
                                        KeyedRandom(kSeed, RandomStream::kPropose, ToNumber(decision))});
  }

  absl::StatusOr<ProposeResult> Propose(const ProposeRequest& request, DecisionId decision) {
    // Several at once, each with its own replies, so that none can copy from another.
    std::vector<absl::StatusOr<ProposeResult>> results(3, absl::UnknownError(""));
    std::vector<std::string> exceptions(results.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < results.size(); ++i) {
      threads.emplace_back([&, i] {
        const std::unique_ptr<Journal> journal = MakeMemoryJournal();
        exceptions[i] = TextOfException([&] { results[i] = Call(request, decision, *journal, {}); }).value_or("");
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& exception : exceptions) {
      if (!exception.empty()) Violate(absl::StrCat("Propose threw: ", exception));
    }
    for (const auto& result : results) {
      if (HashesOf(result) != HashesOf(results[0])) Violate("equal requests with equal random numbers give different proposals");
    }
    CheckProposals(request, results[0]);
    return results[0];
  }

  void CheckProposals(const ProposeRequest& request, const absl::StatusOr<ProposeResult>& result) {
    if (!result.ok()) return;
    if (result->proposals.empty() && result->failure.empty()) Violate("a result has neither a proposal nor a failure");
    for (const Proposal& proposal : result->proposals) {
      if (proposal.candidate == nullptr) {
        Violate("a proposal has no candidate");
        continue;
      }
      for (const ParentContext& parent : request.parents) {
        if (parent.candidate->content_hash() == proposal.candidate->content_hash()) {
          Violate("a proposal is its own parent; that is a failure, not a proposal");
        }
      }
    }
  }

  void CheckCancellation() {
    const DecisionId decision = fold_.state().next_decision();
    ExpandOrder order;
    order.parents = {kRootNode};
    const std::optional<ProposeRequest> request = Prepare(decision, order);
    if (!request.has_value()) return;
    std::stop_source stop;
    stop.request_stop();
    const std::unique_ptr<Journal> journal = MakeMemoryJournal();
    const absl::Time start = absl::Now();
    static_cast<void>(Call(*request, decision, *journal, stop.get_token()));
    if (absl::Now() - start > absl::Seconds(10)) Violate("a cancelled call took more than 10 s to return");
  }

  const std::unique_ptr<ExpansionPolicy> policy_;
  const std::unique_ptr<ExpansionPolicy> fresh_;
  const ExpansionContractOptions& options_;
  std::vector<std::string>& violations_;
  Fold fold_{kSeed};
};

}  // namespace

std::vector<std::string> CheckExpansionContract(const std::function<std::unique_ptr<ExpansionPolicy>()>& make,
                                                const ExpansionContractOptions& options) {
  std::vector<std::string> violations;
  const std::optional<std::string> exception = TextOfException([&] { Play(make, options, violations).Run(); });
  if (exception.has_value()) violations.push_back(absl::StrCat("the policy threw: ", *exception));
  return violations;
}

}  // namespace maxkernel
