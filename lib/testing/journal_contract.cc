#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/testing/contract_run.h"
#include "maxkernel/testing/contract.h"
#include "maxkernel/testing/event_text.h"

namespace maxkernel {
namespace {

Evaluation FullEvaluation() {
  Evaluation evaluation;
  evaluation.fidelity = Fidelity::kAot;
  evaluation.verdict = Verdict::kTimedOut;
  evaluation.reason = "line one\nline \"two\" \xE2\x82\xAC";
  Diagnostic diagnostic{Severity::kWarning, "mosaic_vmem_oom", "too large\t", "kernel.py", 12, "square", "smaller blocks"};
  evaluation.stages = {{Stage::kValidate, StageStatus::kPassed, absl::Nanoseconds(1), {}},
                       {Stage::kMeasure, StageStatus::kFailed, absl::Hours(100), {diagnostic, {}}}};
  CaseResult full{"square", true, 1e-300, 0.1, {1e-6, 2.5}, 3e-7, "", {{"hbm_bytes", 1e15}}};
  CaseResult empty;
  empty.absent = "not timed";
  evaluation.cases = {full, empty};
  evaluation.identity = "abc";
  evaluation.environment = {{"jax", "0.4"}, {"chip", "v6e"}};
  evaluation.facts = {{"vmem_bytes", 123456789.0}};
  evaluation.device_time = absl::Milliseconds(1234);
  evaluation.from_cache = true;
  return evaluation;
}

// One of every kind with every field set, and one with none.
std::vector<EventBody> AllBodies() {
  Budget budget{1, 2, 3, 4, absl::Seconds(5), absl::Seconds(6)};
  Cost cost{1, 2, 3, 4, 5, 6, absl::Milliseconds(7)};
  const auto candidate = std::make_shared<const Candidate>(
      *Candidate::Create({{"kernel.py", "import jax\n# \xE2\x82\xAC and a zero byte \x01\r\n"}, {"more/tiles.py", "\n\ntiles = 1"}}));
  ExpandOrder expand{{NodeId{0}, NodeId{1}}, "crossover", "island 2", "a-model", 3, {{"strategy", "tile \"it\""}}};
  Decision decision = Decision::Orders({expand, EvaluateOrder{NodeId{1}, Fidelity::kDevice, 7, NodeId{0}}, CancelOrder{WorkId{5}},
                                        RelabelOrder{NodeId{1}, "b", RelabelOrder::Mode::kCopy}, ExpandOrder{}, EvaluateOrder{}},
                                       "because");
  decision.trace = {{"path", "0/1"}};
  const Score score{2.5, 2.25, 2.75, Fidelity::kDevice};
  return {RunStarted{~std::uint64_t{0}, budget, R"({"task": "x"})"},
          RunStarted{},
          RunResumed{{WorkId{1}, WorkId{2}}},
          RunEnded{"stopped", NodeId{1}},
          RunEnded{},
          DecisionMade{DecisionId{9}, decision, {1, 2}},
          DecisionMade{DecisionId{10}, Decision::Exhausted("done"), {}},
          ProposalDispatched{WorkId{1}, DecisionId{9}, 1, 2, 3, {NodeId{0}}, "edit", "b", "m", {{"BLOCK", "128"}}, cost},
          ProposalFinished{WorkId{1}, Settle::kLost, cost, absl::Nanoseconds(1), "why", {{"note", ""}}},
          NodeAdded{NodeId{1}, {NodeId{0}, NodeId{2}}, "edit", "b", "m", "because", {{"BLOCK", "128"}}, WorkId{1}, candidate},
          NodeAdded{NodeId{2}, {}, "", "", "", "", {}, std::nullopt, candidate},
          DuplicateDetected{WorkId{1}, NodeId{1}},
          EvaluationDispatched{WorkId{2}, NodeId{1}, Fidelity::kCpu, 5, EvaluationPurpose::kOrder, DecisionId{9}, 1, 2, NodeId{0}, "key",
                               cost},
          EvaluationDispatched{},
          EvaluationFinished{WorkId{2}, NodeId{1}, Settle::kOk, FullEvaluation(), score, cost, absl::Seconds(1), "detail"},
          EvaluationFinished{WorkId{2}, NodeId{1}, Settle::kCancelled, std::nullopt, std::nullopt, {}, {}, ""},
          OrderSettled{DecisionId{9}, 1, Settle::kDuplicate, {NodeId{1}}, true},
          Relabelled{NodeId{1}, "c", RelabelOrder::Mode::kCopy},
          NewChampion{NodeId{1}, score},
          LateResult{WorkId{1}, cost, "late"},
          PolicyFault{"selection policy", "threw"},
          StopRequested{StopRequested::Mode::kCancel, "by hand"},
          Paused{},
          Unpaused{},
          NodeVetoed{NodeId{1}, true, "cheats"},
          BudgetChanged{budget},
          HintAdded{"try larger blocks"}};
}

class Suite {
 public:
  Suite(const std::function<std::unique_ptr<Journal>()>& make, const JournalContractOptions& options, std::vector<std::string>& violations)
      : journal_(make()), options_(options), violations_(violations) {}

  void Run() {
    CheckContents("a new journal");
    const std::vector<EventBody> bodies = AllBodies();
    // In groups of 1, 2, 3 and so on.
    for (std::size_t i = 0, size = 1; i < bodies.size(); i += size, ++size) {
      std::vector<Event> group;
      for (std::size_t j = i; j < std::min(i + size, bodies.size()); ++j) group.push_back(Next(group.size(), bodies[j]));
      Append(group);
    }
    CheckContents("after appending");
    Append({});
    CheckRefusals();
    CheckContents("after refusals");
    CheckVisitor();
    CheckReplies();
    if (options_.reopen) {
      journal_ = options_.reopen(std::move(journal_));
      CheckContents("after reopening");
      CheckRecordedReplies("after reopening");
      Append({Next(0, HintAdded{"appended after reopening"})});
      CheckContents("after appending to the reopened journal");
    }
  }

 private:
  void Violate(std::string what) { violations_.push_back(std::move(what)); }

  Event Next(std::size_t ahead, EventBody body) const {
    const std::uint64_t sequence = texts_.size() + ahead + 1;
    return {EventSequence{sequence}, absl::FromUnixNanos(1'700'000'000'123'456'789 + static_cast<std::int64_t>(sequence)), std::move(body)};
  }

  void Append(const std::vector<Event>& group) {
    if (absl::Status status = journal_->Append(group); !status.ok()) return Violate(absl::StrCat("Append failed: ", status.ToString()));
    for (const Event& event : group) texts_.push_back(EventText(event));
  }

  void CheckContents(const std::string& when) {
    std::size_t count = 0;
    const absl::Status status = journal_->ForEach([&](const Event& event) {
      const std::string text = EventText(event);
      if (count >= texts_.size()) {
        Violate(absl::StrCat(when, ": an event that was never appended: ", text));
      } else if (text != texts_[count]) {
        Violate(absl::StrCat(when, ": event ", count + 1, " is\n  ", text, "\ninstead of\n  ", texts_[count]));
      }
      ++count;
      return absl::OkStatus();
    });
    if (!status.ok()) Violate(absl::StrCat(when, ": ForEach failed: ", status.ToString()));
    if (count < texts_.size()) Violate(absl::StrCat(when, ": ", count, " events instead of ", texts_.size()));
  }

  void CheckRefusals() {
    const auto refuse = [&](const std::vector<Event>& group, const char* what) {
      if (journal_->Append(group).ok()) Violate(absl::StrCat("a group with ", what, " is accepted"));
    };
    refuse({Next(1, HintAdded{"x"})}, "a gap in front");
    refuse({Next(0, HintAdded{"x"}), Next(0, HintAdded{"y"})}, "a sequence twice");
    refuse({Next(0, HintAdded{"x"}), Next(2, HintAdded{"y"})}, "a gap inside");
  }

  void CheckVisitor() {
    std::size_t visited = 0;
    const absl::Status status = journal_->ForEach([&](const Event&) {
      return ++visited == 3 ? absl::AbortedError("enough") : absl::OkStatus();
    });
    if (status.code() != absl::StatusCode::kAborted || visited != 3) Violate("ForEach does not stop at a visitor's error and return it");
  }

  void CheckReplies() {
    ReplyLog& replies = journal_->replies();
    if (replies.Find("d1/o0/s0").status().code() != absl::StatusCode::kNotFound) Violate("Find of an unknown key is not NOT_FOUND");
    for (const auto& [key, reply] : Replies()) {
      if (!replies.Record(key, reply).ok()) Violate(absl::StrCat("Record failed under ", key));
    }
    if (!replies.Record("d1/o0/s0", "another").ok()) Violate("Record under a key that has a reply fails");
    CheckRecordedReplies("after recording");

    std::vector<std::thread> threads;
    std::vector<int> faults(4);
    for (std::size_t i = 0; i < faults.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int j = 0; j < 20; ++j) {
          const std::string key = absl::StrCat("thread/", j);
          const std::string own = absl::StrCat(i);
          if (!replies.Record(key, own).ok() || !replies.Find(key).ok()) ++faults[i];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int count : faults) {
      if (count > 0) Violate("Record and Find fail when several threads use them");
    }
  }

  static std::vector<std::pair<std::string, std::string>> Replies() {
    return {{"d1/o0/s0", "first"}, {"d1/o0/s0/repair", std::string("zero \0 byte", 11)}, {"empty", ""}, {"large", std::string(1 << 20, 'x')}};
  }

  void CheckRecordedReplies(const std::string& when) {
    for (const auto& [key, reply] : Replies()) {
      const absl::StatusOr<std::string> found = journal_->replies().Find(key);
      if (!found.ok() || *found != reply) Violate(absl::StrCat(when, ": the reply under ", key, " is not the first one recorded"));
    }
  }

  std::unique_ptr<Journal> journal_;
  const JournalContractOptions& options_;
  std::vector<std::string>& violations_;
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<std::string> CheckJournalContract(const std::function<std::unique_ptr<Journal>()>& make, const JournalContractOptions& options) {
  std::vector<std::string> violations;
  const std::optional<std::string> exception = TextOfException([&] { Suite(make, options, violations).Run(); });
  if (exception.has_value()) violations.push_back(absl::StrCat("the journal threw: ", *exception));
  return violations;
}

}  // namespace maxkernel
