// A whole search with llm_edit: engine, built-in selection, a model behind HTTP; only the evaluator is a fake.
#include <mutex>
#include <regex>
#include <set>

#include <catch2/catch.hpp>

#include "lib/llm/request_key.h"
#include "maxkernel/llm/llm_factory.h"
#include "maxkernel/policies/builtin_policies.h"
#include "maxkernel/search.h"
#include "maxkernel/testing/fake_evaluator.h"
#include "tests/integration/llm/server_process.h"

namespace maxkernel::llm {
namespace {

// What was paid for, seen from the client.
class Bookkeeper : public LlmObserver {
 public:
  void OnReply(const LlmRequest& request, const absl::StatusOr<LlmReply>& reply, absl::Duration) override {
    if (!reply.ok()) return;
    const std::scoped_lock lock(mutex);
    ++calls;
    keys.insert(RequestKey(request));
    cost.input_tokens += reply->usage.input_tokens;
    cost.cached_input_tokens += reply->usage.cached_input_tokens;
    cost.output_tokens += reply->usage.output_tokens;
    cost.microdollars += reply->microdollars;
  }
  std::mutex mutex;
  std::size_t calls = 0;
  std::set<std::string> keys;
  Cost cost;
};

// The power cut: takes so many groups of events, then none.
class BreakingJournal : public Journal {
 public:
  BreakingJournal(Journal& inner, int groups) : inner_(inner), left_(groups) {}
  absl::Status Append(std::span<const Event> events) override {
    if (left_-- <= 0) return absl::InternalError("the power is off");
    return inner_.Append(events);
  }
  absl::Status ForEach(const std::function<absl::Status(const Event&)>& visit) override { return inner_.ForEach(visit); }
  ReplyLog& replies() override { return inner_.replies(); }

 private:
  Journal& inner_;
  int left_;
};

// Larger blocks are faster, up to 64; beyond, nothing compiles.
absl::StatusOr<Evaluation> Judge(const EvaluateArgs& args) {
  std::smatch match;
  const std::string& text = args.request.candidate->entry().text;
  if (!std::regex_search(text, match, std::regex("BLOCK = (\\d+)"))) return absl::InternalError("an edit took the block away");
  const double block = std::stod(match[1]);
  if (block > 64) return MakeFailedEvaluation(Verdict::kDoesNotCompile, "the block does not fit");
  return MakeTimedEvaluation({1e-3 / block});
}

struct World {
  World() : server({"python3", MAXKERNEL_MOCK_SERVER}), clock(MakeSystemClock()), journal(MakeMemoryJournal()), evaluator(Judge) {
    REQUIRE(server.port() != 0);
    auto task = std::make_shared<Task>();
    task->name = "blocks";
    task->chip = "v6e";
    task->cases = {{.name = "square"}};
    task->baseline = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", "BLOCK = 8\n\ndef computation(x):\n    return x * 2\n"));
    task->configuration = "{}";
    options.base_url = server.base_url();
    options.model = "doubling";
    options.price = {.input = 1'000'000, .cached_input = 500'000, .output = 2'000'000};
    auto made = MakeLlmClient(options, *clock, &bookkeeper);
    REQUIRE(made.ok());
    client = *std::move(made);
    context = {.client = client.get(), .options = options, .task = task, .prompt_folder = MAXKERNEL_PROMPTS, .hardware_file = MAXKERNEL_HARDWARE};
    REQUIRE(RegisterBuiltinPolicies(registry).ok());
    REQUIRE(RegisterLlmOperators(registry, context).ok());
  }

  SearchResult Run(Journal& with, std::int64_t nodes) {
    SearchParts parts;
    parts.baseline = context.task->baseline;
    parts.selection = *registry.MakeSelection(*PolicySpec::Parse("best_first"));
    parts.expansion = *registry.MakeExpansion(*PolicySpec::Parse("llm_edit"));
    parts.evaluator = &evaluator;
    parts.journal = &with;
    parts.clock = clock.get();
    SearchOptions search_options{.seed = 3, .expand_workers = 2, .retry_delay = absl::Milliseconds(1), .barren_after = 60};
    search_options.budget.nodes = nodes;
    auto search = Search::Create(search_options, std::move(parts));
    INFO(search.status());
    REQUIRE(search.ok());
    SearchResult result = (*search)->Run();
    if (result.best.has_value()) best = (*search)->graph().node(*result.best).candidate->entry().text;
    return result;
  }

  ServerProcess server;
  std::unique_ptr<Clock> clock;
  std::unique_ptr<Journal> journal;
  FakeEvaluator evaluator;
  Bookkeeper bookkeeper;
  LlmOptions options;
  std::unique_ptr<LlmClient> client;
  LlmOperatorContext context;
  PolicyRegistry registry;
  std::string best;
};

TEST_CASE("a search with a model finds the best kernel, and every token is in its cost") {
  World world;
  const SearchResult result = world.Run(*world.journal, 5);
  INFO(result.status << " " << result.reason);
  CHECK(result.status.ok());
  CHECK(world.best.starts_with("BLOCK = 64\n"));
  CHECK(result.best_score->value == Approx(8));
  CHECK(result.cost.input_tokens == world.bookkeeper.cost.input_tokens);
  CHECK(result.cost.cached_input_tokens == world.bookkeeper.cost.cached_input_tokens);
  CHECK(result.cost.output_tokens == world.bookkeeper.cost.output_tokens);
  CHECK(result.cost.microdollars == world.bookkeeper.cost.microdollars);
  CHECK(result.cost.microdollars > 0);
}

TEST_CASE("a power cut at any moment costs no reply") {
  World world;
  BreakingJournal breaking(*world.journal, GENERATE(3, 5, 8, 12));
  const SearchResult cut = world.Run(breaking, 5);
  REQUIRE_FALSE(cut.status.ok());
  const SearchResult result = world.Run(*world.journal, 5);
  INFO(result.status << " " << result.reason);
  CHECK(result.status.ok());
  CHECK(world.best.starts_with("BLOCK = 64\n"));
  // Nothing was asked twice, and all that was paid for is in the run's cost.
  CHECK(world.bookkeeper.keys.size() == world.bookkeeper.calls);
  CHECK(result.cost.output_tokens >= world.bookkeeper.cost.output_tokens);
  CHECK(result.cost.microdollars >= world.bookkeeper.cost.microdollars);
}

}  // namespace
}  // namespace maxkernel::llm
