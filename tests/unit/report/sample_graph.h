// A small graph with everything that a format has to show: a crossover, a failure, a champion, text that needs escaping.
#ifndef MAXKERNEL_TESTS_UNIT_REPORT_SAMPLE_GRAPH_H_
#define MAXKERNEL_TESTS_UNIT_REPORT_SAMPLE_GRAPH_H_

#include <memory>
#include <vector>

#include "maxkernel/journal.h"
#include "maxkernel/search.h"

namespace maxkernel {

inline Evaluation SampleEvaluation(Verdict verdict, double seconds) {
  Evaluation evaluation;
  evaluation.verdict = verdict;
  StageReport stage{Stage::kTest, verdict == Verdict::kCorrect ? StageStatus::kPassed : StageStatus::kFailed, absl::Seconds(1), {}};
  evaluation.stages.push_back(stage);
  CaseResult result;
  result.name = "square";
  if (verdict == Verdict::kCorrect) {
    result.samples_seconds = {seconds};
    result.floor_seconds = seconds / 4;
  }
  evaluation.cases.push_back(result);
  evaluation.environment["jax"] = "0.10.2";
  return evaluation;
}

// Appends the events of a small finished run to a new journal.
inline std::unique_ptr<Journal> SampleJournal() {
  auto journal = MakeMemoryJournal();
  std::uint64_t sequence = 0;
  const auto append = [&](EventBody body) {
    const std::vector<Event> group{{EventSequence{++sequence}, absl::FromUnixSeconds(1000 + static_cast<std::int64_t>(sequence)),
                                    std::move(body)}};
    if (!journal->Append(group).ok()) std::abort();
  };
  const auto add = [&](std::uint64_t id, std::vector<NodeId> parents, std::string operator_name, std::string rationale,
                       Parameters tunables) {
    NodeAdded node;
    node.node = NodeId{id};
    node.parents = std::move(parents);
    node.operator_name = std::move(operator_name);
    node.rationale = std::move(rationale);
    node.tunables = std::move(tunables);
    node.candidate =
        std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", "BLOCK = " + std::to_string(id) + "\n"));
    append(std::move(node));
  };
  const auto evaluate = [&](std::uint64_t id, Verdict verdict, double seconds) {
    EvaluationDispatched dispatched;
    dispatched.work = WorkId{id};
    dispatched.node = NodeId{id};
    dispatched.reserve.evaluations = 1;
    append(dispatched);
    EvaluationFinished finished;
    finished.work = WorkId{id};
    finished.node = NodeId{id};
    finished.settle = verdict == Verdict::kCorrect ? Settle::kOk : Settle::kCandidateFailed;
    finished.evaluation = SampleEvaluation(verdict, seconds);
    if (verdict == Verdict::kCorrect) finished.score = Score{8 / seconds, 8 / seconds, 8 / seconds, Fidelity::kEstimate};
    finished.cost.evaluations = 1;
    append(finished);
  };
  RunStarted started;
  started.seed = 7;
  started.specification = R"({"select": "best_first"})";
  append(started);
  add(0, {}, "baseline", "", {});
  evaluate(0, Verdict::kCorrect, 8);
  append(NewChampion{NodeId{0}, {1, 1, 1, Fidelity::kEstimate}});
  add(1, {NodeId{0}}, "autotune", "", {{"BLOCK_M", "256"}});
  evaluate(1, Verdict::kCorrect, 4);
  add(2, {NodeId{0}}, "llm_edit", "fuse <a> & \"b\"\nsecond line", {});
  evaluate(2, Verdict::kIncorrect, 0);
  add(3, {NodeId{1}, NodeId{0}}, "crossover", "both", {});
  evaluate(3, Verdict::kCorrect, 2);
  append(NewChampion{NodeId{3}, {4, 4, 4, Fidelity::kEstimate}});
  append(RunEnded{"budget: evaluations", NodeId{3}});
  return journal;
}

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTS_UNIT_REPORT_SAMPLE_GRAPH_H_
