// What the engine itself costs: searches whose proposals and evaluations take no time, against the same loop in Python (peer.py).
// Usage: engine_benchmark [--nodes N] [--json FILE]
// Every figure is measured in a process of its own, which this program starts: engine_benchmark --measure NAME --nodes N --folder DIR.
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "maxkernel/search.h"
#include "maxkernel/store/sqlite_journal.h"
#include "maxkernel/testing/fake_evaluator.h"
#include "maxkernel/testing/fake_expansion.h"

namespace maxkernel {
namespace {

constexpr int kSourceBytes = 1000;
constexpr std::uint32_t kWorkers = 8;

[[noreturn]] void Die(const std::string& what) {
  std::cerr << "engine_benchmark: " << what << "\n";
  std::exit(1);
}

template <typename T>
T Expect(absl::StatusOr<T> value) {
  if (!value.ok()) Die(value.status().ToString());
  return *std::move(value);
}

std::string SourceOf(const std::string& key) {
  std::string text = absl::StrCat("# ", key, "\n");
  while (text.size() < kSourceBytes) text += "x = jnp.dot(a, b)\n";
  return text;
}

// Draws a valid node.
Decision SelectAny(const SelectArgs& args) {
  if (args.free.expand == 0) return Decision::Wait("no free worker");
  KeyedRandom random = args.random;
  const std::span<const NodeId> ranked = args.graph.ranked();
  ExpandOrder order;
  order.parents = {ranked[random.NextBelow(static_cast<std::uint32_t>(ranked.size()))]};
  return Decision::Orders({std::move(order)}, "drawn");
}

struct Benchmark {
  explicit Benchmark(Journal& journal, std::int64_t nodes)
      : clock(MakeSystemClock()),
        // A time that depends on the source, so that the ranking has work to do. Nothing is remembered, unlike in FakeEvaluator.
        evaluator(std::make_unique<InstantEvaluator>()) {
    SearchOptions options;
    options.seed = 1;
    options.budget.nodes = nodes;
    options.expand_workers = kWorkers;
    options.evaluate_workers = kWorkers;
    SearchParts parts;
    parts.baseline = std::make_shared<const Candidate>(Expect(Candidate::FromText("kernel.py", SourceOf("baseline"))));
    parts.selection = MakeFakeSelection({SelectAny, {}});
    FakeExpansionFunctions expansion;
    expansion.propose = [](const ProposeArgs& args) -> absl::StatusOr<ProposeResult> { return MakeProposal(SourceOf(args.reply_key)); };
    parts.expansion = MakeFakeExpansion(std::move(expansion));
    parts.evaluator = evaluator.get();
    parts.journal = &journal;
    parts.clock = clock.get();
    search = Expect(Search::Create(options, std::move(parts)));
  }

  class InstantEvaluator final : public Evaluator {
   public:
    absl::StatusOr<EvaluatorInfo> Describe() override { return EvaluatorInfo{"instant", {Fidelity::kEstimate}, kWorkers, {}}; }
    absl::StatusOr<Evaluation> Evaluate(const EvaluateArgs& args) override {
      const std::string& hash = args.request.candidate->content_hash();
      return MakeTimedEvaluation({1e-3 * (1 + std::stoi(hash.substr(0, 6), nullptr, 16) / 16777216.0)});
    }
  };

  std::unique_ptr<Clock> clock;
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<Search> search;
};

double NodesPerSecond(Journal& journal, std::int64_t nodes) {
  Benchmark benchmark(journal, nodes);
  const absl::Time start = absl::Now();
  const SearchResult result = benchmark.search->Run();
  if (static_cast<std::int64_t>(result.nodes) != nodes) Die(absl::StrCat(result.nodes, " nodes: ", result.reason));
  return static_cast<double>(nodes) / absl::ToDoubleSeconds(absl::Now() - start);
}

double ResidentBytes() {
  malloc_trim(0);
  std::ifstream stream("/proc/self/statm");
  double pages = 0;
  double resident = 0;
  stream >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::filesystem::path JournalFile(const std::filesystem::path& folder) { return folder / "engine.journal"; }

// A journal that holds all but the last words of a run, so that it can be resumed.
class WithoutEnd final : public Journal {
 public:
  explicit WithoutEnd(Journal& journal) : journal_(journal) {}
  absl::Status Append(std::span<const Event> events) override {
    for (const Event& event : events) {
      if (std::holds_alternative<RunEnded>(event.body)) return absl::OkStatus();
    }
    return journal_.Append(events);
  }
  absl::Status ForEach(const std::function<absl::Status(const Event&)>& visit) override { return journal_.ForEach(visit); }
  ReplyLog& replies() override { return journal_.replies(); }

 private:
  Journal& journal_;
};

double Measure(const std::string& name, std::int64_t nodes, const std::filesystem::path& folder) {
  if (name == "nodes_per_s_memory") {
    const std::unique_ptr<Journal> journal = MakeMemoryJournal();
    return NodesPerSecond(*journal, nodes);
  }
  if (name == "nodes_per_s_journal") {
    const std::unique_ptr<Journal> journal = Expect(OpenSqliteJournal(JournalFile(folder)));
    WithoutEnd without_end(*journal);
    return NodesPerSecond(without_end, nodes);
  }
  // Both on the journal that nodes_per_s_journal left.
  const std::unique_ptr<Journal> journal = Expect(OpenSqliteJournal(JournalFile(folder), {SqliteJournalOptions::Mode::kWrite}));
  const double before = ResidentBytes();
  const absl::Time start = absl::Now();
  const Benchmark benchmark(*journal, nodes);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  if (static_cast<std::int64_t>(benchmark.search->graph().size()) != nodes) Die("the journal does not hold the nodes");
  if (name == "resume_s") return seconds;
  if (name == "bytes_per_node") return (ResidentBytes() - before) / static_cast<double>(nodes);
  Die(absl::StrCat("unknown measurement '", name, "'"));
}

// The number that a command prints on its last line.
double NumberFrom(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) Die(absl::StrCat("cannot run ", command));
  std::string output;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
  double number = 0;
  if (pclose(pipe) != 0 || !absl::SimpleAtod(output, &number)) Die(absl::StrCat("no number from ", command, ": ", output));
  return number;
}

std::string Quote(const std::string& text) { return absl::StrCat("'", text, "'"); }

nlohmann::json Row(const std::string& metric, const std::string& unit, std::int64_t nodes, const std::filesystem::path& folder) {
  const std::string arguments = absl::StrCat(" --measure ", metric, " --nodes ", nodes, " --folder ", Quote(folder.string()));
  const char* python = std::getenv("MAXKERNEL_PYTHON");
  const double own = NumberFrom(absl::StrCat(Quote(std::filesystem::read_symlink("/proc/self/exe").string()), arguments));
  const double peer = NumberFrom(absl::StrCat(Quote(python == nullptr ? "python3" : python), " ", Quote(MAXKERNEL_ENGINE_PEER), arguments));
  return {{"metric", metric},
          {"value", own},
          {"unit", unit},
          {"peer", absl::StrCat("the same loop in Python, ", nodes, " nodes")},
          {"peer_value", peer},
          {"ratio", own / peer}};
}

int Main(int argc, char** argv) {
  std::string measure;
  std::string json;
  std::filesystem::path folder;
  std::int64_t nodes = 100'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    const std::string value = argv[i + 1];
    if (option == "--measure") {
      measure = value;
    } else if (option == "--json") {
      json = value;
    } else if (option == "--folder") {
      folder = value;
    } else if (option != "--nodes" || !absl::SimpleAtoi(value, &nodes) || nodes < 10) {
      Die(absl::StrCat("unknown option or value '", option, " ", value, "'; valid: --nodes N (10 or more), --json FILE"));
    }
  }
  if (argc % 2 == 0) Die("an option has no value; valid: --nodes N, --json FILE");
  if (!measure.empty()) {
    std::printf("%.9g\n", Measure(measure, nodes, folder));
    return 0;
  }
  folder = std::filesystem::current_path() / absl::StrCat("engine_benchmark.", getpid());
  std::filesystem::create_directory(folder);
  nlohmann::json rows = nlohmann::json::array();
  rows.push_back(Row("nodes_per_s_memory", "1/s", nodes, folder));
  rows.push_back(Row("nodes_per_s_journal", "1/s", nodes, folder));
  rows.push_back(Row("bytes_per_node", "bytes", nodes, folder));
  rows.push_back(Row("resume_s", "s", nodes, folder));
  std::filesystem::remove_all(folder);
  const std::string text = nlohmann::json{{"rows", rows}}.dump(1) + "\n";
  if (json.empty()) {
    std::cout << text;
  } else if (!(std::ofstream(json) << text)) {
    Die(absl::StrCat("cannot write ", json));
  }
  return 0;
}

}  // namespace
}  // namespace maxkernel

int main(int argc, char** argv) { return maxkernel::Main(argc, argv); }
