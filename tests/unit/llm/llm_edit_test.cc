#include "lib/llm/llm_edit.h"

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "lib/llm/call_failure.h"
#include "lib/llm/request_key.h"
#include "lib/llm/token_estimate.h"
#include "tests/unit/llm/fakes.h"

namespace maxkernel::llm {
namespace {

using Catch::Contains;

constexpr char kSource[] = "BLOCK = 8\n\ndef computation(x):\n    return x * 2\n";

class FakeGraph : public GraphView {
 public:
  std::size_t size() const override { return nodes.size(); }
  const Node& node(NodeId id) const override { return nodes.at(ToNumber(id)); }
  std::optional<NodeId> Find(std::string_view) const override { return std::nullopt; }
  std::optional<NodeId> champion() const override { return std::nullopt; }
  std::span<const NodeId> ranked() const override { return {}; }

  NodeId Add(std::string_view source, std::vector<NodeId> parents, std::string rationale) {
    Node node;
    node.id = NodeId{nodes.size()};
    node.candidate = std::make_shared<const Candidate>(*Candidate::FromText("candidate.py", source));
    node.rationale = std::move(rationale);
    node.operator_name = "llm_edit";
    for (const NodeId parent : parents) nodes[ToNumber(parent)].children.push_back(node.id);
    node.parents = std::move(parents);
    nodes.push_back(std::move(node));
    return nodes.back().id;
  }
  void Score(NodeId id, double value, Evaluation evaluation = {}) {
    evaluation.verdict = Verdict::kCorrect;
    nodes[ToNumber(id)].evaluation = std::make_shared<const Evaluation>(std::move(evaluation));
    nodes[ToNumber(id)].score = maxkernel::Score{value, value, value};
    nodes[ToNumber(id)].state = NodeState::kValid;
  }
  void Fail(NodeId id, Evaluation evaluation) {
    nodes[ToNumber(id)].evaluation = std::make_shared<const Evaluation>(std::move(evaluation));
    nodes[ToNumber(id)].state = NodeState::kFailed;
  }

  std::vector<Node> nodes;
};

std::shared_ptr<const Task> MakeTask() {
  auto task = std::make_shared<Task>();
  task->name = "doubling";
  task->description = "Doubles a matrix.";
  task->chip = "v6e";
  task->valid = {Fidelity::kInterpret, Fidelity::kLower};
  task->cases = {{.name = "square"}, {.name = "secret_case", .hidden = true}};
  task->baseline = std::make_shared<const Candidate>(*Candidate::FromText("candidate.py", kSource));
  task->files = {{"reference.py", "def computation(x):\n    return x + x  # REFERENCE\n"},
                 {"inputs.py", "def get_inputs(rng, rows):\n    return (rng.random(rows),), ()\n"},
                 {"task.yaml", "cases: [secret_case]\n"}};
  task->configuration = R"({"reference": "reference.py", "inputs": "inputs.py",
      "cases": [{"name": "square", "params": {"rows": 64}}, {"name": "secret_case", "params": {"rows": 4242}}]})";
  task->digest = "0123";
  return task;
}

struct World {
  explicit World(std::vector<absl::StatusOr<LlmReply>> answers = {Reply("no edit")}) : client(std::move(answers)) {
    context.client = &client;
    context.options.model = "model-1";
    context.options.price = {.input = 1'000'000, .cached_input = 1'000'000, .output = 2'000'000};
    context.options.base_url = "https://example.com/v1";
    context.task = MakeTask();
    context.prompt_folder = MAXKERNEL_PROMPTS;
    context.hardware_file = MAXKERNEL_HARDWARE;
    root = graph.Add(kSource, {}, "");
    graph.nodes[0].operator_name = "baseline";
    graph.Score(root, 1);
  }

  void Make(const std::string& spec = "llm_edit") {
    const auto parsed = PolicySpec::Parse(spec);
    REQUIRE(parsed.ok());
    auto made = LlmEditPolicy::Create(*parsed, context);
    INFO(made.status());
    REQUIRE(made.ok());
    policy = *std::move(made);
  }

  absl::Status Fault(const std::string& spec) { return LlmEditPolicy::Create(*PolicySpec::Parse(spec), context).status(); }

  absl::StatusOr<std::optional<ProposeRequest>> TryPrepare(const ExpandOrder& order, std::uint64_t id = 1, const ProposalDispatched* earlier = nullptr) {
    return policy->Prepare({.decision = DecisionId{1}, .order_index = 0, .sample = 0, .order = order, .graph = graph, .budget = budget,
                            .random = KeyedRandom(7, RandomStream::kPrepare, id), .earlier = earlier});
  }
  ProposeRequest Prepare(const ExpandOrder& order, std::uint64_t id = 1) {
    auto prepared = TryPrepare(order, id);
    INFO(prepared.status());
    REQUIRE(prepared.ok());
    REQUIRE(prepared->has_value());
    return **std::move(prepared);
  }
  // All that the model would be told.
  std::string Prompt(const ExpandOrder& order) {
    const auto parsed = ParseEditOrderJson(Prepare(order).payload);
    REQUIRE(parsed.ok());
    std::string text;
    for (const LlmMessage& message : parsed->messages) text += message.text;
    return text;
  }

  void Tell(EventBody body) {
    const Event event{EventSequence{1}, absl::UnixEpoch(), std::move(body)};
    policy->OnEvent({event, graph, KeyedRandom(7, RandomStream::kOnEvent, 1)});
  }

  absl::StatusOr<ProposeResult> Propose(const ProposeRequest& request) {
    return policy->proposer().Propose({.request = request, .reply_key = "p/1/0/0", .replies = replies, .stop = stop.get_token(),
                                       .deadline = absl::InfiniteFuture(), .random = KeyedRandom(7, RandomStream::kPropose, 1)});
  }

  FakeClient client;
  LlmOperatorContext context;
  FakeGraph graph;
  NodeId root{};
  BudgetView budget;
  FakeReplyLog replies;
  std::stop_source stop;
  std::unique_ptr<LlmEditPolicy> policy;
};

std::string Block(const std::string& search, const std::string& replace) {
  return "Larger blocks.\n<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n";
}
const std::string kGoodReply = Block("BLOCK = 8\n", "BLOCK = 16\n");
const std::string kBadReply = Block("BLOCK = 9\n", "BLOCK = 16\n");

TEST_CASE("an improvement is told about chip, task, parent and strategy") {
  World world;
  Evaluation evaluation;
  evaluation.cases = {{.name = "square", .samples_seconds = {1.23456e-5}, .floor_seconds = 1e-5, .facts = {{"hbm_bytes", 1e6}}}};
  world.graph.Score(world.root, 1.2345678, evaluation);
  world.Make("llm_edit(strategies=fuse)");
  const std::string prompt = world.Prompt({.parents = {world.root}});
  CHECK_THAT(prompt, Contains("vmem_mib_per_core: 128") && Contains("pallas_call") && Contains("# The task: doubling") && Contains("# REFERENCE"));
  CHECK_THAT(prompt, Contains("square: rows=64 (tested and timed)") && Contains("BLOCK = 8") && Contains("1.235 times as fast"));
  CHECK_THAT(prompt, Contains("square: 12.35 us; the hardware's lower bound is 10 us, 81 % of it is reached; hbm_bytes 1e+06"));
  CHECK_THAT(prompt, Contains("concentrate on this: fuse separate passes") && Contains("Improve this kernel"));
  const ProposeRequest request = world.Prepare({.parents = {world.root}});
  CHECK(request.operator_name == "llm_edit");
  CHECK(request.model == "model-1");
  CHECK(request.parameters == Parameters{{"kind", "improve"}, {"strategy", "fuse"}});
  CHECK(request.parents.size() == 1);
  CHECK(world.Prepare({.parents = {world.root}, .model = "model-2"}).model == "model-2");
}

TEST_CASE("no hidden case reaches a prompt") {
  World world;
  Evaluation evaluation;
  evaluation.cases = {{.name = "secret_case", .hidden = true, .samples_seconds = {77e-6}}};
  evaluation.verdict = Verdict::kIncorrect;
  evaluation.reason = "secret_case differs";
  evaluation.stages = {{.stage = Stage::kTest, .status = StageStatus::kFailed,
                        .diagnostics = {{.message = "off by 5", .case_name = "secret_case"}, {.message = "also visible", .case_name = "square"}}}};
  const NodeId child = world.graph.Add("x = 1\n", {world.root}, "tried a thing");
  world.graph.Fail(child, evaluation);
  const NodeId grandchild = world.graph.Add("x = 2\n", {child}, "repair");
  world.graph.Fail(grandchild, evaluation);
  world.Make();
  for (const NodeId parent : {world.root, child}) {
    const std::string prompt = world.Prompt({.parents = {parent}});
    CHECK_THAT(prompt, !Contains("secret_case") && !Contains("4242") && !Contains("off by 5") && !Contains("77 us"));
  }
}

TEST_CASE("a failed parent is repaired with its diagnostics") {
  World world;
  Evaluation evaluation;
  evaluation.verdict = Verdict::kDoesNotCompile;
  evaluation.reason = "the block does not fit";
  evaluation.stages = {{.stage = Stage::kCompile, .status = StageStatus::kFailed,
                        .diagnostics = {{.severity = Severity::kNote, .message = "a note"},
                                        {.severity = Severity::kError, .class_name = "mosaic_vmem_oom", .message = "needs 40 MiB, limit 32 MiB\x1b[0m",
                                         .file = "candidate.py", .line = 12, .case_name = "square", .hint = "use smaller blocks"}}}};
  const NodeId child = world.graph.Add("BLOCK = 4096\n", {world.root}, "blocks of 4096");
  world.graph.Fail(child, evaluation);
  world.Make();
  const std::string prompt = world.Prompt({.parents = {child}});
  CHECK_THAT(prompt, Contains("# Repair this kernel") && Contains("does_not_compile") && Contains("the block does not fit"));
  CHECK_THAT(prompt, Contains("- error [mosaic_vmem_oom] candidate.py line 12 (case square): needs 40 MiB, limit 32 MiB\n  hint: use smaller blocks"));
  CHECK(prompt.find("mosaic_vmem_oom") < prompt.find("a note"));
  CHECK_THAT(prompt, Contains("does_not_compile: blocks of 4096") && !Contains("concentrate on this"));
  CHECK(world.Prepare({.parents = {child}}).parameters == Parameters{{"kind", "repair"}});
}

TEST_CASE("what was tried on the parent is told, with results") {
  World world;
  world.graph.Score(world.graph.Add("a = 1\n", {world.root}, "wider blocks\nsecond line"), 1.5);
  world.graph.Fail(world.graph.Add("a = 2\n", {world.root}, "bfloat16"), {.verdict = Verdict::kIncorrect});
  world.Make();
  CHECK_THAT(world.Prompt({.parents = {world.root}}),
             Contains("- 1.5 times the baseline's speed: wider blocks\n- incorrect: bfloat16\n") && !Contains("second line"));
}

TEST_CASE("without a parent a draft is asked for") {
  World world({Reply("Here.\n```python\ndef computation(x):\n    return x + x\n```\n")});
  world.Make();
  const ProposeRequest request = world.Prepare({});
  CHECK(request.parameters.at("kind") == "draft");
  CHECK_THAT(world.Prompt({}), Contains("# Write a first kernel") && Contains("`candidate.py`") && !Contains("BLOCK = 8"));
  const auto result = world.Propose(request);
  REQUIRE(result.ok());
  REQUIRE(result->proposals.size() == 1);
  CHECK(result->proposals[0].candidate->entry().path == "candidate.py");
  CHECK(result->proposals[0].rationale == "Here.");
}

TEST_CASE("other parents are shown, but not edited") {
  World world;
  const NodeId other = world.graph.Add("OTHER = 1\n", {}, "");
  world.graph.Score(other, 2);
  world.Make();
  CHECK_THAT(world.Prompt({.parents = {world.root, other}}), Contains("2 times as fast as the baseline:") && Contains("OTHER = 1"));
}

TEST_CASE("hints reach later prompts") {
  World world;
  world.Make();
  CHECK_THAT(world.Prompt({.parents = {world.root}}), !Contains("Advice from"));
  world.Tell(HintAdded{"try 256 rows"});
  CHECK_THAT(world.Prompt({.parents = {world.root}}), Contains("- try 256 rows"));
}

TEST_CASE("prompts about one task begin with the same bytes") {
  World world;
  world.Make();
  const auto first = ParseEditOrderJson(world.Prepare({.parents = {world.root}}, 1).payload);
  const NodeId other = world.graph.Add("OTHER = 1\n", {}, "");
  world.Tell(HintAdded{"x"});
  const auto second = ParseEditOrderJson(world.Prepare({.parents = {other}}, 2).payload);
  CHECK(first->messages[0] == second->messages[0]);
  const std::string& a = first->messages[1].text;
  const std::string& b = second->messages[1].text;
  const std::size_t shared = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  CHECK(shared >= a.find("# Improve this kernel"));
}

TEST_CASE("strategies least tried on a parent come first") {
  World world;
  world.Make("llm_edit(strategies=\"fuse,hoist,unroll\")");
  const ExpandOrder order{.parents = {world.root}};
  std::map<std::string, int> chosen;
  for (std::uint64_t id = 0; id < 300; ++id) ++chosen[world.Prepare(order, id).parameters.at("strategy")];
  CHECK(chosen.size() == 3);
  for (const auto& [id, count] : chosen) CHECK(count > 60);

  const auto dispatched = [&](const std::string& strategy, std::uint32_t attempt) {
    world.Tell(ProposalDispatched{.attempt = attempt, .parents = {world.root}, .operator_name = "llm_edit", .parameters = {{"strategy", strategy}}});
  };
  dispatched("fuse", 0);
  dispatched("unroll", 0);
  dispatched("hoist", 1);  // a retry is not another try
  for (std::uint64_t id = 0; id < 20; ++id) CHECK(world.Prepare(order, id).parameters.at("strategy") == "hoist");
  CHECK(world.Prepare({}, 3).parameters.contains("strategy"));  // drafts are counted apart
}

TEST_CASE("an order or an earlier attempt decides the strategy") {
  World world;
  world.Make();
  CHECK(world.Prepare({.parents = {world.root}, .parameters = {{"strategy", "megacore"}}}).parameters.at("strategy") == "megacore");
  CHECK(absl::IsInvalidArgument(world.TryPrepare({.parents = {world.root}, .parameters = {{"strategy", "magic"}}}).status()));
  const ProposalDispatched earlier{.parameters = {{"strategy", "unroll"}}};
  for (std::uint64_t id = 0; id < 20; ++id) CHECK((*world.TryPrepare({.parents = {world.root}}, id, &earlier))->parameters.at("strategy") == "unroll");
  CHECK(absl::IsInvalidArgument(world.TryPrepare({.operator_name = "autotune"}).status()));
  world.Make("llm_edit(strategies=none)");
  CHECK_FALSE(world.Prepare({.parents = {world.root}}).parameters.contains("strategy"));
}

TEST_CASE("the reserve covers every call at its longest") {
  World world;
  world.Make("llm_edit(max_calls=1, max_output_tokens=1000)");
  const ProposeRequest one = world.Prepare({.parents = {world.root}});
  const std::int64_t prompt = EstimateTokens(ParseEditOrderJson(one.payload)->messages);
  CHECK(one.reserve == Cost{.input_tokens = prompt, .output_tokens = 1000, .microdollars = prompt + 2000});
  world.Make("llm_edit(max_calls=2, max_output_tokens=1000)");
  const Cost two = world.Prepare({.parents = {world.root}}).reserve;
  CHECK(two.output_tokens == 2000);
  CHECK(two.input_tokens >= 2 * prompt + 1000);
}

TEST_CASE("a prompt is shortened until it fits, or given up") {
  World world;
  for (int i = 0; i < 10; ++i) {
    world.graph.Fail(world.graph.Add("x = " + std::to_string(i), {world.root}, std::string(230, 'r')), {.verdict = Verdict::kIncorrect});
  }
  world.context.options.max_output_tokens = 1000;
  const auto prompt_with = [&](std::int64_t context_tokens) {
    world.context.options.context_tokens = context_tokens;
    world.Make();
    const auto prepared = world.TryPrepare({.parents = {world.root}});
    REQUIRE(prepared.ok());
    return prepared->has_value() ? ParseEditOrderJson((*prepared)->payload)->messages : std::vector<LlmMessage>();
  };
  const auto all = prompt_with(100'000);
  const std::int64_t needed = EstimateTokens(all);
  CHECK_THAT(all[1].text, Contains("What was tried"));
  const auto shorter = prompt_with(static_cast<std::int64_t>(static_cast<double>(needed + 900) / 0.95));
  REQUIRE(shorter.size() == 2);
  CHECK_THAT(shorter[1].text, !Contains("What was tried") && Contains("BLOCK = 8"));
  CHECK_THAT(shorter[0].text, Contains("PrefetchScalarGridSpec"));
  const auto minimal = prompt_with(static_cast<std::int64_t>(static_cast<double>(needed) / 0.95) - 1000);
  REQUIRE(minimal.size() == 2);
  CHECK_THAT(minimal[0].text, !Contains("PrefetchScalarGridSpec") && Contains("How to reply"));
  CHECK(prompt_with(2000).empty());
}

TEST_CASE("a good reply becomes a proposal, paid and recorded") {
  World world({Reply(kGoodReply, 300, 20)});
  world.Make();
  const auto result = world.Propose(world.Prepare({.parents = {world.root}}));
  REQUIRE(result.ok());
  REQUIRE(result->proposals.size() == 1);
  CHECK_THAT(result->proposals[0].candidate->entry().text, Contains("BLOCK = 16"));
  CHECK(result->proposals[0].rationale == "Larger blocks.");
  CHECK(result->cost == Cost{.input_tokens = 300, .output_tokens = 20});
  CHECK(result->failure.empty());
  CHECK(result->notes.at("calls") == "1");
  CHECK(world.replies.replies.contains("p/1/0/0/0"));
}

TEST_CASE("failed edits are reported back once") {
  World world({Reply(kBadReply, 300, 20), Reply(kGoodReply, 400, 30)});
  world.Make();
  const auto result = world.Propose(world.Prepare({.parents = {world.root}}));
  REQUIRE(result.ok());
  CHECK(result->proposals.size() == 1);
  CHECK(result->cost == Cost{.input_tokens = 700, .output_tokens = 50});
  REQUIRE(world.client.requests.size() == 2);
  const std::vector<LlmMessage>& messages = world.client.requests[1].messages;
  REQUIRE(messages.size() == 4);
  CHECK(messages[2] == LlmMessage{LlmMessage::Role::kAssistant, kBadReply});
  CHECK_THAT(messages[3].text, Contains("Block 1 (candidate.py): the SEARCH text matches nothing") && Contains("1| BLOCK = 8"));
}

TEST_CASE("edits that fail again make a failed proposal, with its cost") {
  World world({Reply(kBadReply, 300, 20), Reply("sorry", 400, 30)});
  world.Make();
  const auto result = world.Propose(world.Prepare({.parents = {world.root}}));
  REQUIRE(result.ok());
  CHECK(result->proposals.empty());
  CHECK_THAT(result->failure, Contains("no edit found"));
  CHECK(result->cost == Cost{.input_tokens = 700, .output_tokens = 50});
  CHECK(world.client.requests.size() == 2);
}

TEST_CASE("one call means one call") {
  World world({Reply(kBadReply)});
  world.Make("llm_edit(max_calls=1)");
  const auto result = world.Propose(world.Prepare({.parents = {world.root}}));
  REQUIRE(result.ok());
  CHECK_THAT(result->failure, Contains("edit block 1: the SEARCH text matches nothing"));
  CHECK(world.client.requests.size() == 1);
}

TEST_CASE("a reply that was cut off is not used, even where its edits are whole") {
  LlmReply cut = Reply(kGoodReply);
  cut.stop_reason = StopReason::kLength;
  World world({cut, Reply(kGoodReply)});
  world.Make();
  const auto result = world.Propose(world.Prepare({.parents = {world.root}}));
  REQUIRE(result.ok());
  CHECK(result->proposals.size() == 1);
  CHECK_THAT(world.client.requests[1].messages[3].text, Contains("cut off at the limit"));
}

TEST_CASE("a refusal is a failed proposal, without a second try") {
  LlmReply refusal = Reply("I cannot do that.");
  refusal.stop_reason = StopReason::kRefusal;
  World world({refusal});
  world.Make();
  const auto result = world.Propose(world.Prepare({.parents = {world.root}}));
  REQUIRE(result.ok());
  CHECK(result->failure == "the model refused: I cannot do that.");
  CHECK(world.client.requests.size() == 1);
}

TEST_CASE("a recorded reply is used and counted, but not paid again") {
  World world({Reply("must not be asked")});
  world.Make();
  LlmReply paid = Reply(kGoodReply, 300, 20);
  paid.microdollars = 99;
  world.replies.replies["p/1/0/0/0"] = ReplyJson(paid);
  const auto result = world.Propose(world.Prepare({.parents = {world.root}}));
  REQUIRE(result.ok());
  CHECK(result->proposals.size() == 1);
  CHECK(result->cost == Cost{.input_tokens = 300, .output_tokens = 20, .microdollars = 99});
  CHECK(world.client.requests.empty());
}

TEST_CASE("a crash between two calls pays only for the second") {
  World world({Reply(kBadReply, 300, 20), absl::UnavailableError("down")});
  world.Make();
  const ProposeRequest request = world.Prepare({.parents = {world.root}});
  CHECK(absl::IsUnavailable(world.Propose(request).status()));
  CHECK(world.client.requests.size() == 2);

  FakeClient later({Reply(kGoodReply, 400, 30)});
  world.context.client = &later;
  world.Make();
  const auto result = world.Propose(request);
  REQUIRE(result.ok());
  CHECK(result->proposals.size() == 1);
  CHECK(result->cost == Cost{.input_tokens = 700, .output_tokens = 50});
  CHECK(later.requests == std::vector<LlmRequest>{world.client.requests[1]});
}

TEST_CASE("a reply that cannot be recorded is not used") {
  World world({Reply(kGoodReply)});
  world.Make();
  world.replies.fault = absl::ResourceExhaustedError("disk full");
  CHECK(absl::IsResourceExhausted(world.Propose(world.Prepare({.parents = {world.root}})).status()));
}

TEST_CASE("the world's faults are errors, a prompt that is too long is a failed proposal") {
  for (const absl::Status& status : {absl::UnavailableError("x"), absl::CancelledError("x"), absl::UnauthenticatedError("x")}) {
    World world({status});
    world.Make();
    CHECK(world.Propose(world.Prepare({.parents = {world.root}})).status().code() == status.code());
  }
  const absl::Status overflow = FailureFromErrorJson(R"({"code": 400, "message": "the request exceeds the available context size"})", "");
  REQUIRE(IsContextOverflow(overflow));
  World world({overflow});
  world.Make();
  const auto result = world.Propose(world.Prepare({.parents = {world.root}}));
  REQUIRE(result.ok());
  CHECK_THAT(result->failure, Contains("context size"));
}

TEST_CASE("attempts of one sample ask the same, samples differ") {
  World world({Reply(kGoodReply)});
  world.Make("llm_edit(temperature=0.7)");
  const ProposeRequest request = world.Prepare({.parents = {world.root}});
  (void)world.Propose(request);
  world.replies.replies.clear();
  (void)world.Propose(request);
  REQUIRE(world.client.requests.size() == 2);
  CHECK(world.client.requests[0] == world.client.requests[1]);
  CHECK(world.client.requests[0].temperature == 0.7);
  CHECK(world.client.requests[0].seed.has_value());
  (void)world.policy->proposer().Propose({.request = request, .reply_key = "p/1/0/1", .replies = world.replies, .stop = {},
                                          .deadline = absl::InfiniteFuture(), .random = KeyedRandom(7, RandomStream::kPropose, 2)});
  CHECK(world.client.requests[2].seed != world.client.requests[0].seed);
}

TEST_CASE("options that llm_edit does not have are refused") {
  World world;
  const auto message = [&](const std::string& spec) { return std::string(world.Fault(spec).message()); };
  CHECK_THAT(message("llm_edit(max_call=3)"), Contains("max_call") && Contains("max_calls"));
  CHECK_THAT(message("llm_edit(max_calls=0)"), Contains("max_calls"));
  CHECK_THAT(message("llm_edit(temperature=3)"), Contains("temperature"));
  CHECK_THAT(message("llm_edit(strategies=\"fuse,hoistt\")"), Contains("hoistt") && Contains("did you mean 'hoist'"));
  world.context.prompt_folder = "/nowhere";
  CHECK(absl::IsNotFound(world.Fault("llm_edit")));
  CHECK(PolicySpec::Parse("llm_edit").ok());
}

TEST_CASE("llm_edit is in the registry once it is registered") {
  World world;
  PolicyRegistry registry;
  REQUIRE(RegisterLlmOperators(registry, world.context).ok());
  CHECK(registry.expansions().at(0).first == "llm_edit");
  auto made = registry.MakeExpansion(*PolicySpec::Parse("llm_edit(max_calls=1)"));
  REQUIRE(made.ok());
  CHECK((*made)->operators() == std::vector<std::string>{"llm_edit"});
  CHECK(absl::IsAlreadyExists(RegisterLlmOperators(registry, world.context)));
  world.context.client = nullptr;
  PolicyRegistry other;
  CHECK(absl::IsInvalidArgument(RegisterLlmOperators(other, world.context)));
}

TEST_CASE("payloads survive, and foreign ones are refused") {
  const EditOrder order{.messages = {{LlmMessage::Role::kSystem, "a \xFF"}, {LlmMessage::Role::kAssistant, "b"}}, .max_output_tokens = 5,
                        .temperature = 0.25, .max_calls = 3};
  const auto parsed = ParseEditOrderJson(EditOrderJson(order));
  REQUIRE(parsed.ok());
  CHECK(parsed->messages[1] == order.messages[1]);
  CHECK(parsed->max_calls == 3);
  CHECK(parsed->temperature == 0.25);
  for (const char* foreign : {"", "{}", "[]", R"({"messages": [3], "max_output_tokens": 1, "max_calls": 1})", R"({"messages": []})"}) {
    CHECK(absl::IsInvalidArgument(ParseEditOrderJson(foreign).status()));
  }
}

}  // namespace
}  // namespace maxkernel::llm
