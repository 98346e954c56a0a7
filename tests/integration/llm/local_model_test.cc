// The client against a real server with a real model: llama.cpp and SmolLM2-135M. Its kernels are poor; the protocol and the accounting must
// be right. Skipped, with a line that says so, where the packages of requirements.txt are not installed.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "lib/llm/call_failure.h"
#include "maxkernel/journal.h"
#include "maxkernel/llm/llm_factory.h"
#include "tests/integration/llm/server_process.h"

namespace maxkernel::llm {
namespace {

const ServerProcess& Server() {
  static const char* python = std::getenv("MAXKERNEL_LLM_PYTHON");
  static ServerProcess server({python == nullptr ? "python3" : python, MAXKERNEL_LOCAL_MODEL_SERVER});
  return server;
}

// Whether there is a server; prints why not.
bool HaveServer() {
  if (Server().port() != 0) return true;
  std::printf("SKIPPED: no local model server: %s\n", Server().failure().c_str());
  CHECK(Server().exit_status() == 3);  // anything else is a fault, not a missing package
  return false;
}

struct Session {
  Session() : clock(MakeSystemClock()) {
    options.base_url = Server().base_url();
    options.model = "smollm2";
    options.price = {.input = 1'000'000, .cached_input = 0, .output = 2'000'000};
    options.context_tokens = 4096;
    options.max_output_tokens = 200;
    options.retries = 1;
    auto made = MakeLlmClient(options, *clock);
    REQUIRE(made.ok());
    client = *std::move(made);
  }

  absl::StatusOr<LlmReply> Ask(const std::string& text, std::int64_t max_output_tokens) {
    const LlmRequest request{.model = options.model, .messages = {{LlmMessage::Role::kUser, text}}, .max_output_tokens = max_output_tokens,
                             .temperature = 0.0, .seed = 1};
    deltas = 0;
    streamed.clear();
    return client->Generate({.request = request, .stop = stop.get_token(), .deadline = clock->Now() + absl::Minutes(5),
                             .on_text = [this](std::string_view delta) {
                               ++deltas;
                               streamed += delta;
                               if (deltas == stop_after) stop.request_stop();
                             }});
  }

  std::unique_ptr<Clock> clock;
  LlmOptions options;
  std::unique_ptr<LlmClient> client;
  std::stop_source stop;
  std::string streamed;
  int deltas = 0;
  int stop_after = 0;
};

TEST_CASE("a real model's answer streams, ends and is counted") {
  if (!HaveServer()) return;
  Session session;
  const auto reply = session.Ask("What is the capital of France? Answer in one sentence.", 60);
  INFO(reply.status());
  REQUIRE(reply.ok());
  CHECK(reply->stop_reason == StopReason::kEnd);
  CHECK(reply->text.find("Paris") != std::string::npos);
  CHECK(reply->text == session.streamed);
  CHECK(session.deltas > 1);
  CHECK(reply->usage.reported);
  CHECK(reply->usage.input_tokens > 10);
  CHECK(reply->usage.output_tokens >= session.deltas - 1);
  CHECK(reply->usage.output_tokens <= 60);
  CHECK(reply->microdollars == reply->usage.input_tokens - reply->usage.cached_input_tokens + 2 * reply->usage.output_tokens);

  const auto again = session.Ask("What is the capital of France? Answer in one sentence.", 60);
  REQUIRE(again.ok());
  CHECK(again->text == reply->text);  // temperature 0
  CHECK(again->usage.cached_input_tokens > 0);
  CHECK(again->microdollars < reply->microdollars);
}

TEST_CASE("a real model is cut off at the output limit") {
  if (!HaveServer()) return;
  Session session;
  const auto reply = session.Ask("Count from one to a hundred.", 8);
  REQUIRE(reply.ok());
  CHECK(reply->stop_reason == StopReason::kLength);
  CHECK(reply->usage.output_tokens == 8);
}

TEST_CASE("a prompt beyond a real model's context is told apart") {
  if (!HaveServer()) return;
  Session session;
  std::string text;
  for (int i = 0; i < 6000; ++i) text += "word ";
  const absl::Status status = session.Ask(text, 8).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(IsContextOverflow(status));
}

TEST_CASE("a real model can be interrupted, and the server serves the next call") {
  if (!HaveServer()) return;
  Session session;
  session.stop_after = 3;
  CHECK(absl::IsCancelled(session.Ask("Write a long story about a river.", 200).status()));
  Session next;
  CHECK(next.Ask("Say yes.", 5).ok());
}

// One proposal from a prompt that fits a small model: kept short, since a CPU reads some forty tokens a second.
TEST_CASE("llm_edit runs on a real model, and its second attempt pays nothing") {
  if (!HaveServer()) return;
  Session session;
  auto task = std::make_shared<Task>();
  task->name = "doubling";
  task->baseline = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", "BLOCK = 8\n\ndef computation(x):\n    return x * 2\n"));
  task->files = {{"reference.py", "def computation(x):\n    return x * 2\n"}};
  task->configuration = "{}";
  PolicyRegistry registry;
  REQUIRE(RegisterLlmOperators(registry, {.client = session.client.get(), .options = session.options, .task = task,
                                          .prompt_folder = MAXKERNEL_TINY_PROMPTS, .hardware_file = {}}).ok());
  auto policy = registry.MakeExpansion(*PolicySpec::Parse("llm_edit(max_calls=2, max_output_tokens=256, temperature=0)"));
  INFO(policy.status());
  REQUIRE(policy.ok());

  class EmptyGraph : public GraphView {
    std::size_t size() const override { return 0; }
    const Node& node(NodeId) const override { std::abort(); }
    std::optional<NodeId> Find(std::string_view) const override { return std::nullopt; }
    std::optional<NodeId> champion() const override { return std::nullopt; }
    std::span<const NodeId> ranked() const override { return {}; }
  } graph;
  const ExpandOrder order;
  const BudgetView budget;
  auto request = (*policy)->Prepare({.decision = DecisionId{1}, .order_index = 0, .sample = 0, .order = order, .graph = graph,
                                     .budget = budget, .random = KeyedRandom(1, RandomStream::kPrepare, 1)});
  REQUIRE(request.ok());
  REQUIRE(request->has_value());
  const std::unique_ptr<Journal> journal = MakeMemoryJournal();
  const ProposeArgs args{.request = **request, .reply_key = "p", .replies = journal->replies(), .stop = {},
                         .deadline = session.clock->Now() + absl::Minutes(5), .random = KeyedRandom(1, RandomStream::kPropose, 1)};
  const auto first = (*policy)->proposer().Propose(args);
  INFO(first.status());
  REQUIRE(first.ok());
  CHECK(first->proposals.empty() == !first->failure.empty());
  CHECK(first->cost.output_tokens > 0);
  CHECK(first->cost.output_tokens <= (*request)->reserve.output_tokens);
  CHECK(first->cost.input_tokens > 0);
  CHECK(first->cost.input_tokens <= (*request)->reserve.input_tokens);
  CHECK(first->cost.microdollars <= (*request)->reserve.microdollars);
  std::printf("proposals %zu, failure \"%s\", calls %s, %lld + %lld tokens\n", first->proposals.size(), first->failure.c_str(),
              first->notes.at("calls").c_str(), static_cast<long long>(first->cost.input_tokens), static_cast<long long>(first->cost.output_tokens));

  const absl::Time started = session.clock->Now();
  const auto second = (*policy)->proposer().Propose(args);
  REQUIRE(second.ok());
  CHECK(session.clock->Now() - started < absl::Milliseconds(500));  // from the log
  CHECK(second->cost == first->cost);
  CHECK(second->failure == first->failure);
}

}  // namespace
}  // namespace maxkernel::llm
