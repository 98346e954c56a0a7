// Start reading here: a Search puts a selection policy, an expansion policy and an evaluator to work.
#ifndef MAXKERNEL_SEARCH_H_
#define MAXKERNEL_SEARCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/candidate.h"
#include "maxkernel/clock.h"
#include "maxkernel/cost.h"
#include "maxkernel/evaluator.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/journal.h"
#include "maxkernel/score.h"
#include "maxkernel/search_graph.h"
#include "maxkernel/search_observer.h"
#include "maxkernel/selection_policy.h"
#include "maxkernel/stop_policy.h"

namespace maxkernel {

struct SearchOptions {
  std::uint64_t seed = 0;                       // of all randomness in the run
  Budget budget;
  std::string specification;                    // JSON, recorded in RunStarted; what a resume rebuilds the run from
  std::uint32_t expand_workers = 8;             // proposals in flight; they mostly wait for an LLM
  std::optional<std::uint32_t> evaluate_workers;  // nullopt: the evaluator's capacity plus one, so that it never idles
  std::uint32_t evaluation_queue = 8;           // nodes that may wait for an evaluator before expansion is held back
  std::uint32_t retries = 3;                    // after infrastructure failures, per proposal or evaluation
  absl::Duration retry_delay = absl::Seconds(1);  // before the first retry; doubled for each further one
  absl::Duration proposal_deadline = absl::Minutes(15);
  absl::Duration evaluation_deadline = absl::Minutes(30);
  Fidelity fidelity = Fidelity::kEstimate;      // of the evaluation that scores a node
  std::uint32_t repeats = 5;                    // timed samples per case
  // Whether a would-be champion is measured once more before it counts. nullopt: exactly at fidelities that are noisy.
  std::optional<bool> confirm;
  // Infrastructure failures in a row, without a success between them, that end the run. 0: never.
  std::uint32_t give_up_after = 20;
  // Proposals in a row that gave no new candidate, failed or known already, that end the run: such a run may spend nothing and would never
  // end. 0: never.
  std::uint32_t barren_after = 500;

  absl::Status Validate() const;
};

// What a search is made of. The pointees of plain pointers outlive the Search.
struct SearchParts {
  std::shared_ptr<const Candidate> baseline;    // becomes the root
  std::unique_ptr<SelectionPolicy> selection;
  std::unique_ptr<ExpansionPolicy> expansion;
  std::unique_ptr<StopPolicy> stop;             // may be null
  std::unique_ptr<Objective> objective;         // null: MakeGeometricMeanSpeedup()
  Evaluator* evaluator = nullptr;
  Journal* journal = nullptr;
  Clock* clock = nullptr;
  std::vector<SearchObserver*> observers;
};

struct SearchResult {
  std::string reason;              // why it ended
  std::optional<NodeId> best;      // the champion; nullopt if not even the root could be scored
  std::optional<Score> best_score;
  Cost cost;
  std::size_t nodes = 0;
  // Not OK if the run ended for a fault of the world (disk full, evaluator gone for good, policy fault) or a baseline that is not
  // correct; what was found until then is above and in the journal. After kUnavailable and kResourceExhausted the journal holds no
  // RunEnded: the run can be resumed when the world is well again.
  absl::Status status;
};

// One run of the engine. A journal that holds events is resumed: they are replayed, orphaned work is re-issued under its old decision,
// and the run goes on as if nothing had happened.
//
// Run() turns the calling thread into the coordinator and blocks until the run ends and every call into user code has returned; call
// it once. The control functions are thread-safe and may be called before, during and after Run(); they take effect as journal events.
// A run that was paused when it was interrupted is still paused when it is resumed.
//
// Example: examples/01_minimal.cc.
class Search {
 public:
  // InvalidArgument for bad options or missing parts; FailedPrecondition for a journal whose run has ended, or whose root is another
  // candidate; DataLoss if the journal cannot be replayed.
  static absl::StatusOr<std::unique_ptr<Search>> Create(SearchOptions options, SearchParts parts);

  virtual ~Search() = default;

  virtual SearchResult Run() = 0;

  // Finishes what is in flight, then ends.
  virtual void Stop(std::string reason) = 0;
  // Cancels what is in flight, then ends. Nothing that was paid for is lost.
  virtual void Abort(std::string reason) = 0;
  // No new decisions until Unpause(); work in flight goes on.
  virtual void Pause() = 0;
  virtual void Unpause() = 0;
  // Adds a candidate by hand, as a child of `parents`; one that a node holds already is not added again. NotFound for a parent that is
  // not in the graph.
  virtual absl::Status Inject(Candidate candidate, std::vector<NodeId> parents, std::string rationale) = 0;
  // Takes a node, or all that descends from it now or later, out of the running. NotFound for a node that is not in the graph.
  enum class VetoScope : std::uint8_t { kNode, kSubtree };
  virtual absl::Status Veto(NodeId node, VetoScope scope, std::string reason) = 0;
  virtual void SetBudget(Budget budget) = 0;
  // A remark for the expansion policies, e.g. for the next prompts.
  virtual void AddHint(std::string text) = 0;

  // The graph: after Run() has returned, or on the coordinator thread.
  virtual const GraphView& graph() const = 0;
};

// The graph that a journal describes, without running anything. Thread-compatible once returned.
absl::StatusOr<std::unique_ptr<GraphView>> ReadGraph(Journal& journal);

// The totals that a journal describes.
struct RunSummary {
  bool started = false;
  std::uint64_t seed = 0;
  std::string specification;
  BudgetView budget;
  absl::Time start_time = absl::InfinitePast();
  absl::Time last_time = absl::InfinitePast();
  std::optional<std::string> end_reason;   // nullopt while the run has not ended
  std::size_t events = 0;
  std::size_t proposals_failed = 0;
  std::size_t duplicates = 0;
  std::size_t infrastructure_failures = 0;
  std::unique_ptr<GraphView> graph;
};
absl::StatusOr<RunSummary> ReadRun(Journal& journal);

}  // namespace maxkernel

#endif  // MAXKERNEL_SEARCH_H_
