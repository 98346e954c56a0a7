#include <memory>
#include <utility>

#include "lib/search/run_state.h"
#include "maxkernel/search.h"

namespace maxkernel {
namespace {

void Count(const Event& event, RunSummary& summary) {
  ++summary.events;
  if (const auto* proposal = std::get_if<ProposalFinished>(&event.body)) {
    if (proposal->settle == Settle::kCandidateFailed) ++summary.proposals_failed;
    if (proposal->settle == Settle::kInfrastructureFailed) ++summary.infrastructure_failures;
  } else if (const auto* evaluation = std::get_if<EvaluationFinished>(&event.body)) {
    if (evaluation->settle == Settle::kInfrastructureFailed) ++summary.infrastructure_failures;
  } else if (std::holds_alternative<DuplicateDetected>(event.body)) {
    ++summary.duplicates;
  }
}

}  // namespace

absl::StatusOr<RunSummary> ReadRun(Journal& journal) {
  RunSummary summary;
  RunState state;
  const absl::Status status = journal.ForEach([&](const Event& event) -> absl::Status {
    if (absl::Status applied = state.Apply(event); !applied.ok()) return applied;
    Count(event, summary);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  summary.started = state.started();
  summary.seed = state.seed();
  summary.specification = state.specification();
  summary.budget = state.budget();
  summary.start_time = state.start_time();
  summary.last_time = state.last_time();
  summary.end_reason = state.end_reason();
  summary.graph = std::make_unique<SearchGraph>(std::move(state).TakeGraph());
  return summary;
}

absl::StatusOr<std::unique_ptr<GraphView>> ReadGraph(Journal& journal) {
  absl::StatusOr<RunSummary> summary = ReadRun(journal);
  if (!summary.ok()) return summary.status();
  return std::move(summary->graph);
}

}  // namespace maxkernel
