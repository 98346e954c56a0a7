#include "lib/llm/chat_protocol.h"

#include <catch2/catch.hpp>

#include "lib/llm/call_failure.h"
#include "nlohmann/json.hpp"

namespace maxkernel::llm {
namespace {

const LlmRequest kRequest{.model = "m", .messages = {{LlmMessage::Role::kUser, "123456789"}}, .temperature = 1.0, .seed = 1};
constexpr char kStop[] = R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})";

absl::StatusOr<LlmReply> After(const std::vector<std::string>& events) {
  ChatStream stream(kRequest, {}, "");
  for (const std::string& event : events) stream.TakeEvent({.name = "", .data = event});
  return stream.Finish();
}

std::string Text(const std::string& json_string) { return R"({"choices":[{"index":0,"delta":{"content":")" + json_string + R"("}}]})"; }

TEST_CASE("chunks of any shape do no harm") {
  const auto reply = After({"null", "[]", "1", "{}", R"({"choices":null})", R"({"choices":[{}]})", R"({"choices":[{"delta":null}]})", R"({"choices":[null, 3]})",
                            R"({"choices":[{"index":0,"delta":{"role":"assistant","content":null}}],"usage":null,"obfuscation":"xyz"})",
                            R"({"choices":[{"index":0,"delta":{"content":5},"finish_reason":7}]})",
                            R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":1000000000}]}}]})", Text("A"), kStop, R"({"choices":[],"usage":{}})", "[DONE]"});
  REQUIRE(reply.ok());
  CHECK(reply->text == "A");
  CHECK_FALSE(reply->usage.reported);
}

TEST_CASE("only the first choice counts") {
  const auto reply = After({R"({"choices":[{"index":1,"delta":{"content":"B"},"finish_reason":"length"},{"index":0,"delta":{"content":"A"}}]})", kStop});
  REQUIRE(reply.ok());
  CHECK(reply->text == "A");
  CHECK(reply->stop_reason == StopReason::kEnd);
}

TEST_CASE("usage is taken wherever it comes, the last one wins, and nonsense is bounded") {
  const auto usage = [](const std::string& json) { return After({R"({"choices":[],"usage":)" + json + "}", kStop})->usage; };
  CHECK(usage(R"({"prompt_tokens":7,"completion_tokens":3})") == LlmUsage{7, 0, 3, true});
  CHECK(usage(R"({"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":100}})") == LlmUsage{7, 7, 3, true});
  CHECK(usage(R"({"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":null})") == LlmUsage{7, 0, 3, true});
  CHECK(usage(R"({"prompt_tokens":-7,"completion_tokens":3})") == LlmUsage{0, 0, 3, true});
  CHECK(usage(R"({"prompt_tokens":1e300,"completion_tokens":3})").input_tokens == 1'000'000'000'000);
  CHECK_FALSE(usage(R"({"total_tokens":3})").reported);
  CHECK(After({R"({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}})", kStop, R"({"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":2}})"})->usage ==
        LlmUsage{2, 0, 2, true});
}

TEST_CASE("thinking is no text, but it is paid for") {
  const auto thought = GENERATE(as<std::string>(), R"({"reasoning":"123456789012"})", R"({"reasoning_content":"123456789012"})",
                                R"({"reasoning":"123456789012","reasoning_content":"123456789012"})");
  const auto reply = After({R"({"choices":[{"index":0,"delta":)" + thought + "}]}", Text("abc"), kStop});
  REQUIRE(reply.ok());
  CHECK(reply->text == "abc");
  CHECK(reply->usage == LlmUsage{.input_tokens = 13, .cached_input_tokens = 0, .output_tokens = 5, .reported = false});
}

TEST_CASE("half a surrogate pair spoils one character, not the answer") {
  const auto reply = After({Text(R"(a\ud83d)"), Text(R"(\ude00b)"), Text(R"(\ud83d\ude00\\ud83d)"), kStop});
  REQUIRE(reply.ok());
  CHECK(reply->text == "a\xEF\xBF\xBD\xEF\xBF\xBD" "b\xF0\x9F\x98\x80\\ud83d");
}

TEST_CASE("what comes after [DONE] or an error is not read") {
  CHECK(After({Text("A"), kStop, " [DONE] ", Text("B")})->text == "A");
  CHECK(absl::IsUnavailable(After({R"({"error":{"message":"m"}})", Text("A"), kStop}).status()));
  CHECK(absl::IsUnavailable(After({Text("A"), kStop, R"({"error":{"message":"m"}})"}).status()));
}

TEST_CASE("requests are text whatever is in them") {
  LlmRequest request = kRequest;
  request.messages = {{LlmMessage::Role::kSystem, "a\xFF" "b"}, {LlmMessage::Role::kAssistant, "\"\n"}};
  request.seed = ~std::uint64_t{0};
  const auto body = nlohmann::json::parse(MakeChatBody(request, {.output_limit = ChatDialect::OutputLimit::kMaxCompletionTokens}));
  CHECK(body["messages"][0]["content"] == "a\xEF\xBF\xBD" "b");
  CHECK(body["messages"][1]["role"] == "assistant");
  CHECK(body["seed"] == 0x7fffffff);
  CHECK(body.contains("max_completion_tokens"));
  CHECK_FALSE(body.contains("max_tokens"));
  const auto bare = nlohmann::json::parse(MakeChatBody(request, {.temperature = false, .seed = false, .stream_options = false}));
  CHECK(bare.size() == 4);  // model, messages, stream, max_tokens
}

TEST_CASE("a refused parameter is recognised by its name alone") {
  const ChatDialect all;
  const auto without = [&](const std::string& body) { return WithoutRefusedParameter(kRequest, all, body); };
  CHECK(without(R"({"error":{"param":"temperature"}})") == ChatDialect{.temperature = false});
  CHECK(without(R"({"error":{"param":"stream_options.include_usage"}})") == ChatDialect{.stream_options = false});
  CHECK(without(R"({"error":{"message":"Unknown field: seed"}})") == ChatDialect{.seed = false});
  CHECK(without(R"({"error":{"param":"max_tokens","message":"use 'max_completion_tokens'"}})") ==
        ChatDialect{.output_limit = ChatDialect::OutputLimit::kMaxCompletionTokens});
  CHECK(without("temperature must be 1") == ChatDialect{.temperature = false});
  CHECK_FALSE(without(R"({"error":{"message":"temperature and seed are not known"}})").has_value());
  CHECK_FALSE(without(R"({"error":{"param":"messages","message":"temperature"}})").has_value());
  CHECK_FALSE(without("").has_value());
  LlmRequest plain = kRequest;
  plain.temperature.reset();
  CHECK_FALSE(WithoutRefusedParameter(plain, all, R"({"error":{"param":"temperature"}})").has_value());
}

}  // namespace
}  // namespace maxkernel::llm
