// A journal on disk: a search that is interrupted goes on where it was, without paying twice.
#include <filesystem>
#include <iostream>

#include "maxkernel/policies/best_first.h"
#include "maxkernel/search.h"
#include "maxkernel/store/sqlite_journal.h"
#include "maxkernel/testing/simulation.h"

namespace {

// Interrupts a search in the worst way there is: the journal refuses to take another event.
class FailingJournal final : public maxkernel::Journal {
 public:
  FailingJournal(maxkernel::Journal& journal, int groups) : journal_(journal), groups_(groups) {}
  absl::Status Append(std::span<const maxkernel::Event> events) override {
    return groups_-- > 0 ? journal_.Append(events) : absl::ResourceExhaustedError("no space left on device");
  }
  absl::Status ForEach(const std::function<absl::Status(const maxkernel::Event&)>& visit) override { return journal_.ForEach(visit); }
  maxkernel::ReplyLog& replies() override { return journal_.replies(); }

 private:
  maxkernel::Journal& journal_;
  int groups_;
};

maxkernel::SearchResult RunOn(maxkernel::Journal& journal, const maxkernel::Landscape& landscape) {
  maxkernel::FakeClock clock;
  maxkernel::SimulationOptions simulation;
  simulation.clock = &clock;
  const auto evaluator = MakeSimulatedEvaluator(landscape, simulation);
  maxkernel::SearchOptions options;
  options.seed = 7;
  options.budget.nodes = 100;
  maxkernel::SearchParts parts;
  parts.baseline = std::make_shared<const maxkernel::Candidate>(landscape.CandidateOf(0));
  parts.selection = *maxkernel::MakeBestFirst(maxkernel::BestFirstOptions{.penalty = 0.05});
  parts.expansion = MakeSimulatedExpansion(landscape, simulation);
  parts.evaluator = evaluator.get();
  parts.journal = &journal;
  parts.clock = &clock;
  // The same call starts a search and resumes one: it depends on what the journal holds.
  auto search = maxkernel::Search::Create(options, std::move(parts));
  if (!search.ok()) {
    maxkernel::SearchResult failed;
    failed.status = search.status();
    return failed;
  }
  return (*search)->Run();
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path file = argc > 1 ? argv[1] : "04_resume.journal";
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + suffix);
  const auto landscape = maxkernel::Landscape::Create({.seed = 2, .bits = 10, .partners = 2});
  if (!landscape.ok()) return 1;
  {
    auto journal = maxkernel::OpenSqliteJournal(file);
    if (!journal.ok()) {
      std::cerr << journal.status() << "\n";
      return 1;
    }
    FailingJournal failing(**journal, 30);
    const maxkernel::SearchResult result = RunOn(failing, *landscape);
    std::cout << "interrupted after " << result.nodes << " nodes: " << result.status << "\n";
  }
  auto journal = maxkernel::OpenSqliteJournal(file, {maxkernel::SqliteJournalOptions::Mode::kWrite});
  if (!journal.ok()) {
    std::cerr << journal.status() << "\n";
    return 1;
  }
  const maxkernel::SearchResult result = RunOn(**journal, *landscape);
  std::cout << "resumed and ended with " << result.nodes << " nodes: " << result.reason << "\n";
  return result.status.ok() && result.nodes == 100 ? 0 : 1;
}
