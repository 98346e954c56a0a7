// What the journal costs: durable appends against bare SQLite inserts of the same bytes, and a replay against building a tree of JSON
// values of the same bytes, without looking at them.
// Usage: journal_benchmark [--nodes N] [--json FILE]
#include <sqlite3.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "maxkernel/store/event_json.h"
#include "maxkernel/store/sqlite_journal.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Die(const std::string& what) {
  std::cerr << "journal_benchmark: " << what << "\n";
  std::exit(1);
}

void Expect(const absl::Status& status) {
  if (!status.ok()) Die(status.ToString());
}

std::string SourceOf(std::uint64_t node) {
  std::string text = absl::StrCat("# node ", node, "\n");
  while (text.size() < 3000) text += "    out_ref[...] = jnp.dot(a_ref[...], b_ref[...])\n";
  return text;
}

Evaluation EvaluationOf(std::uint64_t node) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kCorrect;
  for (const Stage stage : {Stage::kValidate, Stage::kCompile, Stage::kTest, Stage::kMeasure}) {
    evaluation.stages.push_back({stage, StageStatus::kPassed, absl::Milliseconds(120), {}});
  }
  for (const char* name : {"square", "ragged", "production"}) {
    CaseResult result;
    result.name = name;
    const double seconds = 1e-3 / static_cast<double>(node + 1);
    result.samples_seconds = {seconds, seconds * 1.001, seconds * 0.999, seconds * 1.0005, seconds * 0.9995};
    result.max_abs_error = 1.2e-7;
    result.floor_seconds = seconds / 3;
    result.facts = {{"hbm_bytes", 8388608}, {"vmem_bytes", 1048576}};
    evaluation.cases.push_back(std::move(result));
  }
  evaluation.environment = {{"chip", "v6e"}, {"jax", "0.10.2"}, {"model_version", "1"}};
  return evaluation;
}

// What a search appends for one node.
std::vector<EventBody> BodiesOf(std::uint64_t node) {
  ExpandOrder order;
  order.parents = {NodeId{node / 2}};
  order.operator_name = "llm_edit";
  Cost cost;
  cost.input_tokens = 12000;
  cost.output_tokens = 900;
  cost.microdollars = 25000;
  ProposalDispatched proposal{WorkId{2 * node}, DecisionId{node}, 0, 0, 0, order.parents, "llm_edit", "", "model-a", {{"strategy", "7"}}, cost};
  NodeAdded added;
  added.node = NodeId{node};
  added.parents = order.parents;
  added.operator_name = "llm_edit";
  added.rationale = "Tile the inner dimension so that both operands stay in VMEM across grid steps.";
  added.candidate = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", SourceOf(node)));
  EvaluationDispatched dispatched;
  dispatched.work = WorkId{2 * node + 1};
  dispatched.node = added.node;
  dispatched.idempotency_key = absl::StrCat("run/", node);
  EvaluationFinished finished;
  finished.work = dispatched.work;
  finished.node = added.node;
  finished.evaluation = EvaluationOf(node);
  finished.score = Score{1.5, 1.4, 1.6, Fidelity::kEstimate};
  return {DecisionMade{DecisionId{node}, Decision::Orders({order}, "best of beam"), {1, 1}},
          std::move(proposal),
          ProposalFinished{WorkId{2 * node}, Settle::kOk, cost, absl::Seconds(20), "", {}},
          std::move(added),
          std::move(dispatched),
          std::move(finished),
          OrderSettled{DecisionId{node}, 0, Settle::kOk, {NodeId{node}}, false}};
}

std::vector<Event> MakeEvents(std::uint64_t nodes) {
  std::vector<Event> events;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    for (EventBody& body : BodiesOf(node)) {
      const auto sequence = static_cast<std::int64_t>(events.size() + 1);
      events.push_back({EventSequence{events.size() + 1}, absl::FromUnixSeconds(1'800'000'000) + absl::Milliseconds(sequence), std::move(body)});
    }
  }
  return events;
}

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "maxkernel-benchmark-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) Die("no temporary folder");
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

template <typename Function>
double Seconds(Function function) {
  const absl::Time start = absl::Now();
  function();
  return absl::ToDoubleSeconds(absl::Now() - start);
}

double AppendSeconds(const fs::path& file, std::span<const Event> events, std::size_t group) {
  auto journal = OpenSqliteJournal(file);
  Expect(journal.status());
  return Seconds([&] {
    for (std::size_t i = 0; i < events.size(); i += group) Expect((*journal)->Append(events.subspan(i, std::min(group, events.size() - i))));
  });
}

void Sql(sqlite3* database, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) Die(sqlite3_errmsg(database));
}

// The same texts and sources, made beforehand, into two plain tables, equally durable.
double BareSeconds(const fs::path& file, std::span<const Event> events, std::size_t group) {
  std::vector<std::string> texts;
  std::vector<std::string> sources;
  for (const Event& event : events) {
    texts.push_back(EventToJson(event));
    const auto* added = std::get_if<NodeAdded>(&event.body);
    sources.push_back(added == nullptr ? "" : added->candidate->entry().text);
  }
  sqlite3* database = nullptr;
  if (sqlite3_open(file.c_str(), &database) != SQLITE_OK) Die("no database");
  Sql(database, "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)");
  sqlite3_stmt* insert = nullptr;
  sqlite3_prepare_v2(database, "INSERT INTO t(x) VALUES(?1)", -1, &insert, nullptr);
  const auto put = [&](const std::string& text) {
    sqlite3_bind_text(insert, 1, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE) Die(sqlite3_errmsg(database));
    sqlite3_reset(insert);
  };
  const double seconds = Seconds([&] {
    for (std::size_t i = 0; i < texts.size(); i += group) {
      Sql(database, "BEGIN IMMEDIATE");
      for (std::size_t k = i; k < std::min(i + group, texts.size()); ++k) {
        put(texts[k]);
        if (!sources[k].empty()) put(sources[k]);
      }
      Sql(database, "COMMIT");
    }
  });
  sqlite3_finalize(insert);
  sqlite3_close(database);
  return seconds;
}

double ReplaySeconds(const fs::path& file, std::size_t expected) {
  return Seconds([&] {
    auto journal = OpenSqliteJournal(file, {SqliteJournalOptions::Mode::kReadOnly});
    Expect(journal.status());
    std::size_t count = 0;
    Expect((*journal)->ForEach([&](const Event&) { return ++count, absl::OkStatus(); }));
    if (count != expected) Die("another number of events");
  });
}

double TreeSeconds(std::span<const Event> events) {
  std::vector<std::string> texts;
  for (const Event& event : events) texts.push_back(EventToJson(event));
  std::size_t members = 0;
  const double seconds = Seconds([&] {
    for (const std::string& text : texts) members += nlohmann::json::parse(text).size();
  });
  if (members == 0) Die("nothing parsed");
  return seconds;
}

nlohmann::json Row(const std::string& metric, double value, const std::string& unit, const std::string& peer, double peer_value) {
  return {{"metric", metric}, {"value", value}, {"unit", unit}, {"peer", peer}, {"peer_value", peer_value}, {"ratio", value / peer_value}};
}

nlohmann::json Measure(std::uint64_t nodes) {
  const Folder folder;
  const std::vector<Event> events = MakeEvents(nodes);
  nlohmann::json rows = nlohmann::json::array();
  for (const std::size_t group : {std::size_t{1}, std::size_t{16}, std::size_t{128}}) {
    // Single commits wait for the disk; a part of the events is enough to see it.
    const std::span<const Event> part = std::span(events).first(group == 1 ? std::min<std::size_t>(events.size(), 7000) : events.size());
    const double ours = AppendSeconds(folder / absl::StrCat("run", group, ".db"), part, group);
    const double bare = BareSeconds(folder / absl::StrCat("bare", group, ".db"), part, group);
    const auto count = static_cast<double>(part.size());
    rows.push_back(Row(absl::StrCat("append_events_per_s_groups_of_", group), count / ours, "events/s", "bare SQLite inserts", count / bare));
  }
  const auto count = static_cast<double>(events.size());
  rows.push_back(Row("replay_events_per_s", count / ReplaySeconds(folder / "run128.db", events.size()), "events/s",
                     "nlohmann::json::parse of the texts alone", count / TreeSeconds(events)));
  const auto bytes = static_cast<double>(fs::file_size(folder / "run128.db"));
  const auto bare_bytes = static_cast<double>(fs::file_size(folder / "bare128.db"));
  rows.push_back(Row("bytes_per_node", bytes / static_cast<double>(nodes), "bytes", "bare SQLite inserts", bare_bytes / static_cast<double>(nodes)));
  return {{"nodes", nodes}, {"events", events.size()}, {"rows", std::move(rows)}};
}

}  // namespace
}  // namespace maxkernel

int main(int argc, char** argv) {
  std::uint64_t nodes = 20'000;
  std::string file;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (i + 1 == argc) maxkernel::Die("option " + option + " has no value; usage: journal_benchmark [--nodes N] [--json FILE]");
    const std::string value = argv[++i];
    if (option == "--json") {
      file = value;
    } else if (option != "--nodes" || !absl::SimpleAtoi(value, &nodes) || nodes == 0) {
      maxkernel::Die("unknown option or bad value: " + option + " " + value + "; usage: journal_benchmark [--nodes N] [--json FILE]");
    }
  }
  const std::string text = maxkernel::Measure(nodes).dump(2) + "\n";
  std::cout << text;
  if (!file.empty() && !(std::ofstream(file) << text)) maxkernel::Die("cannot write " + file);
}
