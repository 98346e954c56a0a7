// Everything that happens in a run. The journal is a list of these; graph, budget and policies are folds over it.
#ifndef MAXKERNEL_EVENT_H_
#define MAXKERNEL_EVENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "maxkernel/candidate.h"
#include "maxkernel/cost.h"
#include "maxkernel/decision.h"
#include "maxkernel/evaluation.h"
#include "maxkernel/ids.h"
#include "maxkernel/score.h"

namespace maxkernel {

// How dispatched work ended. Every dispatch ends in exactly one.
enum class Settle : std::uint8_t {
  kOk,
  kCandidateFailed,       // no usable proposal, or a verdict other than correct
  kInfrastructureFailed,  // nobody's fault in the candidate; the engine retries
  kCancelled,
  kLost,                  // in flight when the process died; re-issued on resume
  kDuplicate,             // the candidate exists already
};
enum class EvaluationPurpose : std::uint8_t {
  kScore,    // the first evaluation of a new node
  kConfirm,  // of a node that would become the champion
  kOrder,    // asked for by the selection policy
};
std::string_view ToString(Settle settle);
std::string_view ToString(EvaluationPurpose purpose);

struct SlotCounts {
  std::uint32_t expand = 0;
  std::uint32_t evaluate = 0;

  bool operator==(const SlotCounts&) const = default;
};

// The first event of a journal.
struct RunStarted {
  std::uint64_t seed = 0;
  Budget budget;
  std::string specification;  // JSON: task, policies and settings; enough to rebuild the run on resume
};
// After reopening. The orphaned work was settled as kLost in the events that follow.
struct RunResumed {
  std::vector<WorkId> orphans;
};
struct RunEnded {
  std::string reason;             // "budget: evaluations", "exhausted", "stopped by request", ...
  std::optional<NodeId> best;
};
struct DecisionMade {
  DecisionId decision{};
  Decision answer;
  SlotCounts free;
};
struct ProposalDispatched {
  WorkId work{};
  DecisionId decision{};
  std::uint32_t order_index = 0;
  std::uint32_t sample = 0;       // 0 .. samples-1
  std::uint32_t attempt = 0;      // retries after infrastructure failures and crashes
  std::vector<NodeId> parents;
  std::string operator_name;
  std::string branch;
  std::string model;              // empty if no LLM is involved
  Parameters parameters;          // the expansion policy's own choice, e.g. the tunables of this point
  Cost reserve;
};
struct ProposalFinished {
  WorkId work{};
  Settle settle = Settle::kOk;
  Cost cost;
  absl::Duration duration = absl::ZeroDuration();
  std::string detail;             // why it failed; empty if it did not
  Parameters notes;               // findings for the expansion policy
};
struct NodeAdded {
  NodeId node{};
  std::vector<NodeId> parents;    // ascending in significance order as in the order; empty only for the root and drafts
  std::string operator_name;      // "baseline" for the root
  std::string branch;
  std::string model;
  std::string rationale;          // what the change is meant to do
  Parameters tunables;
  std::optional<WorkId> work;     // the proposal that made it; nullopt for the root and injected nodes
  std::shared_ptr<const Candidate> candidate;
};
// A proposal gave a candidate that a node holds already; it is linked, not evaluated again.
struct DuplicateDetected {
  WorkId work{};
  NodeId existing{};
};
struct EvaluationDispatched {
  WorkId work{};
  NodeId node{};
  Fidelity fidelity = Fidelity::kEstimate;
  std::uint32_t repeats = 1;
  EvaluationPurpose purpose = EvaluationPurpose::kScore;
  std::optional<DecisionId> decision;  // the decision that it settles
  std::uint32_t order_index = 0;
  std::uint32_t attempt = 0;
  std::optional<NodeId> paired;
  std::string idempotency_key;    // equal for all attempts
  Cost reserve;
};
struct EvaluationFinished {
  WorkId work{};
  NodeId node{};
  Settle settle = Settle::kOk;
  std::optional<Evaluation> evaluation;  // absent unless kOk or kCandidateFailed
  std::optional<Score> score;            // relative to the root, if there is one
  Cost cost;
  absl::Duration duration = absl::ZeroDuration();
  std::string detail;
};
// All work under an order is done. Exactly one per order.
struct OrderSettled {
  DecisionId decision{};
  std::uint32_t order_index = 0;
  Settle settle = Settle::kOk;    // kOk if any child is valid, else the last outcome
  std::vector<NodeId> children;
  // The operator has nothing left to try on these parents: asking again is pointless.
  bool exhausted = false;
};
struct Relabelled {
  NodeId node{};
  std::string branch;
  RelabelOrder::Mode mode = RelabelOrder::Mode::kMove;
};
struct NewChampion {
  NodeId node{};
  Score score;
};
// A true result that came after its work was settled. Kept, since it was paid for.
struct LateResult {
  WorkId work{};
  Cost cost;
  std::string detail;
};
// A policy or another user component failed. It is not called again in this run.
struct PolicyFault {
  std::string component;
  std::string detail;
};
struct StopRequested {
  enum class Mode : std::uint8_t { kDrain, kCancel };
  Mode mode = Mode::kDrain;
  std::string reason;
};
struct Paused {};
struct Unpaused {};
// A person's actions. Like anything else they are events, so they replay.
struct NodeVetoed {
  NodeId node{};
  bool subtree = false;
  std::string reason;
};
struct BudgetChanged {
  Budget budget;
};
struct HintAdded {
  std::string text;
};

using EventBody =
    std::variant<RunStarted, RunResumed, RunEnded, DecisionMade, ProposalDispatched, ProposalFinished, NodeAdded,
                 DuplicateDetected, EvaluationDispatched, EvaluationFinished, OrderSettled, Relabelled, NewChampion, LateResult,
                 PolicyFault, StopRequested, Paused, Unpaused, NodeVetoed, BudgetChanged, HintAdded>;

struct Event {
  EventSequence sequence{};
  absl::Time time;
  EventBody body;
};

// "node_added": the stable name of an event's kind in journals and JSON output.
std::string_view EventName(const EventBody& body);

}  // namespace maxkernel

#endif  // MAXKERNEL_EVENT_H_
