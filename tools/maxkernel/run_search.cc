#include "tools/maxkernel/run_search.h"

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "maxkernel/clock.h"
#include "maxkernel/report/result_file.h"
#include "maxkernel/search.h"
#include "tools/maxkernel/interrupt.h"
#include "tools/maxkernel/policy_setup.h"
#include "tools/maxkernel/progress.h"
#include "tools/maxkernel/summary.h"

namespace maxkernel {
namespace {

SearchOptions OptionsFor(const RunArgs& args) {
  SearchOptions options;
  options.seed = args.seed;
  options.budget = args.settings.budget;
  options.specification = SpecificationToJson(args.specification);
  options.expand_workers = args.settings.expand_workers;
  options.evaluate_workers = args.settings.evaluate_workers;
  options.fidelity = args.specification.task->score;
  options.repeats = args.settings.repeats;
  return options;
}

// Interrupts a search from the signal's thread.
class SearchInterrupter {
 public:
  explicit SearchInterrupter(Search& search) : handler_([&search](int count) { Interrupt(search, count); }) {}

 private:
  static void Interrupt(Search& search, int count) {
    if (count == 1) {
      std::cerr << "\nfinishing what is in flight; press Ctrl-C again to cancel it" << std::endl;
      search.Stop("interrupted");
    } else if (count == 2) {
      std::cerr << "\ncancelling what is in flight" << std::endl;
      search.Abort("interrupted twice");
    } else {
      ::_exit(static_cast<int>(ExitCode::kWorld));
    }
  }

  InterruptHandler handler_;
};

// Everything that can fail for a fault of the world.
absl::Status Execute(const RunArgs& args) {
  const std::unique_ptr<Clock> clock = MakeSystemClock();
  absl::StatusOr<SearchPolicies> policies = MakePolicies(args.settings, args.specification.task, *clock);
  if (!policies.ok()) return policies.status();
  const absl::StatusOr<EvaluatorSource> source = EvaluatorSource::Open(args.evaluator);
  if (!source.ok()) return source.status();
  if (!args.quiet && !args.json) std::cerr << "evaluating with " << source->Describe() << "\n";
  const absl::StatusOr<std::unique_ptr<Evaluator>> evaluator = MakeRemoteEvaluator(args.specification.task, source->options());
  if (!evaluator.ok()) return evaluator.status();
  const std::unique_ptr<SearchObserver> events = args.json ? MakeJsonEvents() : nullptr;
  const std::unique_ptr<SearchObserver> progress =
      MakeProgress(args.json || args.quiet ? ProgressStyle::kNone : ProgressStyleForStandardError());

  SearchParts parts;
  parts.baseline = args.specification.task->baseline;
  parts.selection = std::move(policies->selection);
  parts.expansion = std::move(policies->expansion);
  parts.stop = std::move(policies->stop);
  parts.evaluator = evaluator->get();
  parts.journal = args.journal.get();
  parts.clock = clock.get();
  for (SearchObserver* observer : {events.get(), progress.get()}) {
    if (observer != nullptr) parts.observers.push_back(observer);
  }
  const absl::StatusOr<std::unique_ptr<Search>> search = Search::Create(OptionsFor(args), std::move(parts));
  if (!search.ok()) return search.status();
  if (args.new_budget.has_value()) (*search)->SetBudget(*args.new_budget);
  const SearchInterrupter interrupter(**search);
  return (*search)->Run().status;
}

bool Improved(const RunSummary& run) {
  if (run.graph == nullptr || !run.graph->champion().has_value()) return false;
  const Node& best = run.graph->node(*run.graph->champion());
  return best.id != kRootNode && best.score.has_value() && best.score->low > 1;
}

// Writes and prints the result of a run that ended with `status`.
absl::StatusOr<ExitCode> Report(const RunArgs& args, const RunSummary& run, const absl::Status& status) {
  const std::string result = ResultJson(run, args.specification.task.get(), status);
  const absl::Status written = args.folder.WriteResult(result);
  if (args.json) {
    std::cout << ResultLine(result) << std::endl;
  } else if (run.started) {
    std::cout << SummaryText(run, *args.specification.task, args.folder.path()) << std::flush;
  }
  if (!status.ok()) return status;
  if (!written.ok()) return written;
  return Improved(run) ? ExitCode::kSuccess : ExitCode::kNoImprovement;
}

}  // namespace

absl::StatusOr<ExitCode> RunSearch(RunArgs args) {
  // A reader of our output that goes away must not end the run.
  std::signal(SIGPIPE, SIG_IGN);
  args.folder.PrepareResult();
  const absl::Status status = Execute(args);
  const absl::StatusOr<RunSummary> run = ReadRun(*args.journal);
  if (!run.ok()) return WriteFailure(args.folder, args.specification.task.get(), status.ok() ? run.status() : status);
  return Report(args, *run, status);
}

absl::StatusOr<ExitCode> FinishEndedRun(const RunArgs& args, const RunSummary& run) { return Report(args, run, absl::OkStatus()); }

absl::Status WriteFailure(const RunFolder& folder, const Task* task, const absl::Status& status) {
  if (const absl::Status written = folder.WriteResult(ResultJson(RunSummary(), task, status)); !written.ok()) {
    std::cerr << "maxkernel: " << written.message() << "\n";
  }
  return status;
}

}  // namespace maxkernel
