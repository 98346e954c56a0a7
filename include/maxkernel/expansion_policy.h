#ifndef MAXKERNEL_EXPANSION_POLICY_H_
#define MAXKERNEL_EXPANSION_POLICY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/candidate.h"
#include "maxkernel/cost.h"
#include "maxkernel/decision.h"
#include "maxkernel/event.h"
#include "maxkernel/ids.h"
#include "maxkernel/random.h"
#include "maxkernel/search_graph.h"
#include "maxkernel/selection_policy.h"

namespace maxkernel {

struct PrepareArgs {
  DecisionId decision;
  std::uint32_t order_index;
  std::uint32_t sample;
  const ExpandOrder& order;
  const GraphView& graph;
  const BudgetView& budget;
  KeyedRandom random;      // stream kPrepare
  // An earlier attempt of this sample that a crash cut short: prepare the same again where that makes sense. Null for a first attempt.
  const ProposalDispatched* earlier = nullptr;
};

// A parent as a worker sees it: values only, the graph is out of reach.
struct ParentContext {
  NodeId node{};
  std::shared_ptr<const Candidate> candidate;
  std::shared_ptr<const Evaluation> evaluation;  // null if it has none; hidden cases removed
  std::optional<Score> score;
};

// Everything a worker needs for one proposal. Immutable once made.
struct ProposeRequest {
  std::string operator_name;              // the operator in fact chosen
  std::string model;                      // empty if no LLM is involved
  std::vector<ParentContext> parents;
  Parameters parameters;                  // recorded in ProposalDispatched
  std::string payload;                    // the operator's own, e.g. a rendered prompt
  Cost reserve;                           // the most it may cost; reserved before it leaves
};

// Durable memory of replies that were paid for, kept with the run. A proposer asks before it pays and records before it uses, so
// that a crash between two calls of one proposal never pays for the first one again.
// Thread-safe.
class ReplyLog {
 public:
  virtual ~ReplyLog() = default;
  // NotFound if there is none.
  virtual absl::StatusOr<std::string> Find(std::string_view key) = 0;
  // Durable on return. Recording under a key that has a reply keeps the first one.
  virtual absl::Status Record(std::string_view key, std::string_view reply) = 0;
};

struct ProposeArgs {
  const ProposeRequest& request;
  std::string reply_key;   // unique to (decision, order, sample), equal for all attempts; prefix for ReplyLog keys
  ReplyLog& replies;
  std::stop_token stop;    // cancelled: return soon, with kCancelled
  absl::Time deadline;     // past it: return kDeadlineExceeded
  KeyedRandom random;      // stream kPropose; equal for all attempts
};

struct Proposal {
  std::shared_ptr<const Candidate> candidate;  // never null
  std::string rationale;
  Parameters tunables;
};

struct ProposeResult {
  std::vector<Proposal> proposals;  // empty: the proposal failed
  Cost cost;                        // what was consumed, whether or not it helped
  std::string failure;              // why there is no proposal: "edit block 2 matches nothing"
  Parameters notes;                 // findings for the policy's own OnEvent, e.g. which strategy was applied
};

// Makes candidates. Called from several workers at once: thread-safe. Knows nothing but the request.
// An error Status means that the world failed (a model's service is down, a command cannot be started): the engine retries those that
// are kUnavailable, kResourceExhausted, kAborted, kDeadlineExceeded or kInternal. A refusal, an edit that does not apply or an unchanged
// source is a result without proposals.
class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual absl::StatusOr<ProposeResult> Propose(const ProposeArgs& args) = 0;
};

// Turns orders into requests: picks operator, model, context and parameters.
// Coordinator thread only, as SelectionPolicy; Prepare is const for the same reason.
// Example: lib/policies/autotune.cc.
class ExpansionPolicy {
 public:
  virtual ~ExpansionPolicy() = default;

  virtual void OnEvent(const OnEventArgs& args) = 0;

  // nullopt: nothing is left to try on these parents; the order settles as exhausted. An error ends the run.
  virtual absl::StatusOr<std::optional<ProposeRequest>> Prepare(const PrepareArgs& args) const = 0;

  // Lives as long as the policy.
  virtual Proposer& proposer() = 0;

  // The operators it can carry out, e.g. {"autotune"}.
  virtual std::vector<std::string> operators() const = 0;
};

// The context of a parent, with hidden cases taken out of its evaluation: their names, errors and times never reach a proposer.
ParentContext MakeParentContext(const GraphView& graph, NodeId node);

}  // namespace maxkernel

#endif  // MAXKERNEL_EXPANSION_POLICY_H_
