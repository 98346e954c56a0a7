#include "lib/llm/openai_client.h"

#include <atomic>
#include <cstdlib>
#include <thread>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "lib/llm/call_failure.h"
#include "nlohmann/json.hpp"
#include "tests/unit/llm/scripted_server.h"

namespace maxkernel::llm {
namespace {

using Step = ScriptedServer::Step;
using Script = ScriptedServer::Script;
using std::chrono::milliseconds;

constexpr char kKey[] = "sk-very-secret-0123456789";

struct Fixture {
  explicit Fixture(std::vector<Script> scripts, absl::Duration idle = absl::Seconds(5), std::size_t maximum_answer = 64 << 20)
      : server(std::move(scripts)), clock(MakeSystemClock()) {
    auto made = OpenAiClient::Create(
        {.base_url = server.base_url(), .api_key = kKey, .idle_timeout = idle, .maximum_answer = maximum_answer}, *clock);
    REQUIRE(made.ok());
    client = *std::move(made);
  }

  absl::StatusOr<LlmReply> Ask(std::stop_token stop = {}, absl::Duration time = absl::Seconds(20)) {
    deltas.clear();
    const LlmCall call{.request = request, .stop = std::move(stop), .deadline = clock->Now() + time,
                       .on_text = [this](std::string_view delta) { deltas.emplace_back(delta); }};
    return client->Generate(call);
  }

  nlohmann::json Body(std::size_t index) const {
    const std::string sent = server.requests().at(index);
    return nlohmann::json::parse(sent.substr(sent.find("\r\n\r\n") + 4));
  }

  LlmRequest request{.model = "m",
                     .messages = {{LlmMessage::Role::kSystem, "be short"}, {LlmMessage::Role::kUser, "hello"}},
                     .max_output_tokens = 77,
                     .temperature = 0.5,
                     .seed = 42};
  ScriptedServer server;
  std::unique_ptr<Clock> clock;
  std::unique_ptr<OpenAiClient> client;
  std::vector<std::string> deltas;
};

Script Says(std::string bytes) { return {{{std::move(bytes)}}}; }
bool Mentions(const absl::Status& status, const char* words) { return absl::StrContains(status.message(), words); }

TEST_CASE("a streamed answer arrives whole, with usage") {
  Fixture fixture({Says(StreamHeader() + TextEvent("Hel") + TextEvent("lo €") + EndEvents())});
  const absl::StatusOr<LlmReply> reply = fixture.Ask();
  REQUIRE(reply.ok());
  CHECK(reply->text == "Hello €");
  CHECK(reply->stop_reason == StopReason::kEnd);
  CHECK(reply->model == "mock-1");
  CHECK(reply->usage == LlmUsage{.input_tokens = 100, .cached_input_tokens = 40, .output_tokens = 20, .reported = true});
  CHECK(fixture.deltas == std::vector<std::string>{"Hel", "lo €"});
}

TEST_CASE("the request says what was asked") {
  Fixture fixture({Says(StreamHeader() + EndEvents())});
  REQUIRE(fixture.Ask().ok());
  const std::string sent = fixture.server.requests().at(0);
  CHECK(sent.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"));
  CHECK(absl::StrContains(sent, std::string("Authorization: Bearer ") + kKey + "\r\n"));
  CHECK_FALSE(absl::StrContains(sent, "Expect:"));
  const nlohmann::json body = fixture.Body(0);
  CHECK(body == nlohmann::json::parse(R"({"model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 77,
      "temperature": 0.5, "seed": 42,
      "messages": [{"role": "system", "content": "be short"}, {"role": "user", "content": "hello"}]})"));
}

TEST_CASE("a stream without its positive end is no answer") {
  const std::string half = StreamHeader() + TextEvent("half an ans");
  const auto end = GENERATE(Script::End::kClose, Script::End::kReset);
  const std::string tail = GENERATE(as<std::string>(), "", "data: [DONE]\n\n", "data: {\"choi");
  Fixture fixture({Script{{{half + tail}}, end}});
  const absl::StatusOr<LlmReply> reply = fixture.Ask();
  CHECK(absl::IsUnavailable(reply.status()));
  CHECK(ReadRetryAdvice(reply.status()).retry);
  REQUIRE(ReadSpentUsage(reply.status()).has_value());
  CHECK(ReadSpentUsage(reply.status())->input_tokens > 0);
}

TEST_CASE("a body that is shorter than its length is no answer") {
  const std::string header = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n";
  Fixture fixture({Says(header + TextEvent("half"))});
  CHECK(absl::IsUnavailable(fixture.Ask().status()));
}

TEST_CASE("trouble after the positive end does no harm") {
  const std::string answer = StreamHeader() + TextEvent("done") + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
  const std::string tail = GENERATE(as<std::string>(), "", "garbage", "data: {\"unfinish", "data: not json\n\n");
  const auto end = GENERATE(Script::End::kClose, Script::End::kReset);
  Fixture fixture({Script{{{answer, milliseconds(0)}, {tail, milliseconds(20)}}, end}});
  const absl::StatusOr<LlmReply> reply = fixture.Ask();
  REQUIRE(reply.ok());
  CHECK(reply->text == "done");
  CHECK_FALSE(reply->usage.reported);
  CHECK(reply->usage.output_tokens == 2);  // 4 bytes at 3 bytes a token
}

TEST_CASE("a connection that stays open after [DONE] is not waited for") {
  Fixture fixture({Script{{{StreamHeader() + TextEvent("x") + EndEvents()}}, Script::End::kHold}});
  const absl::Time started = fixture.clock->Now();
  REQUIRE(fixture.Ask().ok());
  CHECK(fixture.clock->Now() - started < absl::Seconds(1));
  CHECK(fixture.server.SawClientLeave());
}

TEST_CASE("an answer that ends without [DONE] is waited for only briefly") {
  Fixture fixture({Script{{{StreamHeader() + TextEvent("x") + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"}},
                          Script::End::kHold}});
  const absl::Time started = fixture.clock->Now();
  REQUIRE(fixture.Ask().ok());
  CHECK(fixture.clock->Now() - started < absl::Seconds(4));
}

TEST_CASE("a silent service is given up") {
  const std::vector<Step> steps = GENERATE(std::vector<Step>{}, std::vector<Step>{{StreamHeader() + TextEvent("x")}});
  Fixture fixture({Script{steps, Script::End::kHold}}, absl::Milliseconds(100));
  const absl::Time started = fixture.clock->Now();
  const absl::StatusOr<LlmReply> reply = fixture.Ask();
  CHECK(absl::IsUnavailable(reply.status()));
  CHECK(Mentions(reply.status(), "no byte"));
  CHECK(fixture.clock->Now() - started < absl::Seconds(3));
  CHECK(fixture.server.SawClientLeave());
}

TEST_CASE("comments keep a connection alive, but not for ever") {
  std::vector<Step> steps{{StreamHeader()}};
  for (int i = 0; i < 100; ++i) steps.push_back({": ping\n\n", milliseconds(20)});
  Fixture fixture({Script{steps, Script::End::kClose}}, absl::Milliseconds(100));
  const absl::StatusOr<LlmReply> reply = fixture.Ask();
  CHECK(absl::IsUnavailable(reply.status()));
  CHECK(Mentions(reply.status(), "no part of an answer"));
}

TEST_CASE("no proxy stands between a program and its own machine") {
  const char* variable = GENERATE("http_proxy", "all_proxy", "ALL_PROXY");
  setenv(variable, "http://127.0.0.1:1", 1);
  Fixture fixture({Says(StreamHeader() + TextEvent("direct") + EndEvents())});
  const absl::StatusOr<LlmReply> reply = fixture.Ask();
  unsetenv(variable);
  CHECK(reply.ok());
}

TEST_CASE("a slow answer is fine") {
  std::vector<Step> steps{{StreamHeader()}};
  for (int i = 0; i < 10; ++i) steps.push_back({TextEvent("x"), milliseconds(30)});
  steps.push_back({EndEvents(), milliseconds(30)});
  Fixture fixture({Script{steps}}, absl::Milliseconds(200));
  const absl::StatusOr<LlmReply> reply = fixture.Ask();
  REQUIRE(reply.ok());
  CHECK(reply->text == "xxxxxxxxxx");
}

TEST_CASE("a call can be cancelled at once") {
  const std::vector<Step> steps = GENERATE(std::vector<Step>{}, std::vector<Step>{{StreamHeader() + TextEvent("x")}});
  Fixture fixture({Script{steps, Script::End::kHold}}, absl::Seconds(60));
  std::stop_source source;
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(50));
    source.request_stop();
  });
  const absl::Time started = fixture.clock->Now();
  const absl::StatusOr<LlmReply> reply = fixture.Ask(source.get_token());
  const absl::Duration took = fixture.clock->Now() - started;
  canceller.join();
  CHECK(absl::IsCancelled(reply.status()));
  CHECK(took < absl::Seconds(2));
  CHECK(fixture.server.SawClientLeave());
  CHECK(absl::IsCancelled(fixture.Ask(source.get_token()).status()));
}

TEST_CASE("a call ends at its deadline") {
  Fixture fixture({Script{{{StreamHeader() + TextEvent("x")}}, Script::End::kHold}}, absl::Seconds(60));
  CHECK(absl::IsDeadlineExceeded(fixture.Ask({}, absl::Milliseconds(100)).status()));
  CHECK(absl::IsDeadlineExceeded(fixture.Ask({}, absl::ZeroDuration()).status()));
}

TEST_CASE("HTTP errors become the right status") {
  struct Expected {
    const char* status_line;
    const char* body;
    absl::StatusCode code;
    bool retry;
  };
  const Expected expected = GENERATE(
      Expected{"401 Unauthorized", R"({"error":{"message":"bad key"}})", absl::StatusCode::kUnauthenticated, false},
      Expected{"403 Forbidden", R"({"error":{"message":"no"}})", absl::StatusCode::kPermissionDenied, false},
      Expected{"404 Not Found", R"({"error":"model not found"})", absl::StatusCode::kInvalidArgument, false},
      Expected{"402 Payment Required", R"({"error":{"message":"no credits","code":402}})", absl::StatusCode::kResourceExhausted, false},
      Expected{"429 Too Many", R"({"error":{"message":"slow","code":"rate_limit_exceeded"}})", absl::StatusCode::kResourceExhausted, true},
      Expected{"429 Too Many", R"({"error":{"message":"m","type":"insufficient_quota"}})", absl::StatusCode::kResourceExhausted, false},
      Expected{"500 Oops", "<html>sorry</html>", absl::StatusCode::kUnavailable, true},
      Expected{"503 Loading", "", absl::StatusCode::kUnavailable, true},
      Expected{"529 Overloaded", R"({"error":{"type":"overloaded_error"}})", absl::StatusCode::kUnavailable, true},
      Expected{"302 Found", "", absl::StatusCode::kInvalidArgument, false});
  INFO(expected.status_line << " " << expected.body);
  Fixture fixture({Says(HttpAnswer(expected.status_line, "Content-Type: application/json\r\nLocation: http://127.0.0.1:1/\r\n", expected.body))});
  const absl::Status status = fixture.Ask().status();
  CHECK(status.code() == expected.code);
  CHECK(ReadRetryAdvice(status).retry == expected.retry);
  CHECK(fixture.server.requests().size() == 1);
}

TEST_CASE("a service's wish for a pause is passed on") {
  Fixture fixture({Says(HttpAnswer("429 Too Many", "Retry-After: 1.5\r\n", "{}")), Says(HttpAnswer("503 Down", "retry-after-ms: 250\r\nRetry-After: 9\r\n", "")),
                   Says(HttpAnswer("503 Down", "Retry-After: 1000\r\n", "")), Says(HttpAnswer("503 Down", "x-should-retry: false\r\n", ""))});
  CHECK(ReadRetryAdvice(fixture.Ask().status()).at_least == absl::Milliseconds(1500));
  CHECK(ReadRetryAdvice(fixture.Ask().status()).at_least == absl::Milliseconds(250));
  const absl::Status later = fixture.Ask().status();
  CHECK_FALSE(ReadRetryAdvice(later).retry);
  CHECK(Mentions(later, "16m40s"));
  CHECK_FALSE(ReadRetryAdvice(fixture.Ask().status()).retry);
}

TEST_CASE("errors in the middle of a stream are errors, whatever follows") {
  struct Expected {
    std::string events;
    absl::StatusCode code;
    bool retry;
  };
  const Expected expected = GENERATE(
      Expected{"data: {\"error\":{\"message\":\"m\",\"type\":\"x\",\"code\":500}}\n\ndata: [DONE]\n\n", absl::StatusCode::kUnavailable, true},
      Expected{"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n", absl::StatusCode::kUnavailable, true},
      Expected{"error: {\"code\":500,\"message\":\"m\"}\n\n", absl::StatusCode::kUnavailable, true},
      Expected{"data: {\"error\":{\"type\":\"invalid_request_error\",\"message\":\"m\"}}\n\n", absl::StatusCode::kInvalidArgument, false},
      Expected{"data: {\"error\":{\"code\":429,\"message\":\"m\"}}\n\n", absl::StatusCode::kResourceExhausted, true},
      Expected{"data: {\"error\":\"plain words\"}\n\n", absl::StatusCode::kUnavailable, true},
      Expected{"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n", absl::StatusCode::kUnavailable, true},
      Expected{"data: not json\n\n", absl::StatusCode::kUnavailable, true},
      Expected{"data: {\"x\":\"\xFF\"}\n\n", absl::StatusCode::kUnavailable, true});
  const std::string before = GENERATE(as<std::string>(), "", TextEvent("some text"));
  INFO(before << expected.events);
  Fixture fixture({Says(StreamHeader() + before + expected.events)});
  const absl::Status status = fixture.Ask().status();
  CHECK(status.code() == expected.code);
  CHECK(ReadRetryAdvice(status).retry == expected.retry);
}

TEST_CASE("what is no event stream is told apart from an empty answer") {
  const std::string answer = GENERATE(
      as<std::string>(), HttpAnswer("200 OK", "Content-Type: text/html\r\n", "<h1>portal</h1>"),
      HttpAnswer("200 OK", "Content-Type: application/json\r\n", "not json"), HttpAnswer("200 OK", "Content-Type: application/json\r\n", ""),
      HttpAnswer("200 OK", "Content-Type: text/event-stream\r\n", "<h1>portal</h1>\n"), HttpAnswer("200 OK", "", ""));
  Fixture fixture({Says(answer)});
  const absl::Status status = fixture.Ask().status();
  INFO(status);
  CHECK(absl::IsUnavailable(status));
}

TEST_CASE("an error as plain JSON in an event stream is understood") {
  Fixture fixture({Says(StreamHeader() + "{\"error\": {\n  \"code\": 401,\n  \"message\": \"who are you\"\n}}\n")});
  CHECK(absl::IsUnauthenticated(fixture.Ask().status()));
}

TEST_CASE("a service that does not stream is understood") {
  Fixture fixture({Says(HttpAnswer("200 OK", "Content-Type: application/json; charset=utf-8\r\n",
      R"({"model":"plain","choices":[{"index":0,"message":{"role":"assistant","content":"whole"},"finish_reason":"length"}],
          "usage":{"prompt_tokens":3,"completion_tokens":4}})"))});
  const absl::StatusOr<LlmReply> reply = fixture.Ask();
  REQUIRE(reply.ok());
  CHECK(reply->text == "whole");
  CHECK(reply->stop_reason == StopReason::kLength);
  CHECK(reply->usage.output_tokens == 4);
}

TEST_CASE("a refused parameter is left out, once and for all") {
  const auto refuses = [](const char* parameter) {
    return Says(HttpAnswer("400 Bad Request", "Content-Type: application/json\r\n",
                           std::string(R"({"error":{"message":"Unsupported parameter","param":")") + parameter + "\"}}"));
  };
  Fixture fixture({refuses("stream_options"), refuses("max_tokens"), Says(StreamHeader() + TextEvent("ok") + EndEvents())});
  REQUIRE(fixture.Ask().ok());
  REQUIRE(fixture.server.requests().size() == 3);
  CHECK(fixture.Body(0).contains("stream_options"));
  CHECK_FALSE(fixture.Body(1).contains("stream_options"));
  CHECK(fixture.Body(2)["max_completion_tokens"] == 77);
  CHECK_FALSE(fixture.Body(2).contains("max_tokens"));
  REQUIRE(fixture.Ask().ok());
  CHECK(fixture.server.requests().size() == 4);
  CHECK(fixture.Body(3) == fixture.Body(2));
}

TEST_CASE("a service that refuses everything is asked three times at most") {
  Fixture fixture({Says(HttpAnswer("400 Bad Request", "", R"({"error":{"message":"no","param":"temperature"}})")),
                   Says(HttpAnswer("400 Bad Request", "", R"({"error":{"message":"no","param":"seed"}})")),
                   Says(HttpAnswer("400 Bad Request", "", R"({"error":{"message":"no","param":"stream_options"}})"))});
  CHECK(absl::IsInvalidArgument(fixture.Ask().status()));
  CHECK(fixture.server.requests().size() == 3);
}

TEST_CASE("a prompt that is too long is told apart, not taken for a refused parameter") {
  Fixture fixture({Says(HttpAnswer("400 Bad Request", "",
      R"({"error":{"message":"This model's maximum context length is 4096 tokens; max_tokens asks for 77","code":"context_length_exceeded"}})"))});
  const absl::Status status = fixture.Ask().status();
  CHECK(IsContextOverflow(status));
  CHECK_FALSE(ReadRetryAdvice(status).retry);
  CHECK(fixture.server.requests().size() == 1);
}

TEST_CASE("an endless answer is cut off") {
  std::string flood = StreamHeader();
  for (int i = 0; i < 1000; ++i) flood += TextEvent(std::string(1000, 'x'));
  Fixture fixture({Says(flood + EndEvents())}, absl::Seconds(5), 100'000);
  const absl::Status status = fixture.Ask().status();
  CHECK(absl::IsOutOfRange(status));
  CHECK_FALSE(ReadRetryAdvice(status).retry);
}

TEST_CASE("endless headers are cut off") {
  std::string flood = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 2000; ++i) flood += "X-Header: " + std::string(100, 'x') + "\r\n";
  Fixture fixture({Says(flood + "\r\n")});
  CHECK_FALSE(fixture.Ask().ok());
}

TEST_CASE("keys never appear in messages") {
  Fixture fixture({Says(HttpAnswer("401 Unauthorized", "", std::string(R"({"error":{"message":"Incorrect key )") + kKey + "\"}}")),
                   Says(StreamHeader() + "data: {\"error\":{\"message\":\"key " + kKey + "\"}}\n\n"),
                   Says(HttpAnswer("200 OK", "Content-Type: text/html\r\n", std::string("you sent ") + kKey)),
                   Says(StreamHeader() + "data: not json " + kKey + "\n\n")});
  for (int i = 0; i < 4; ++i) {
    const absl::Status status = fixture.Ask().status();
    REQUIRE_FALSE(status.ok());
    CHECK_FALSE(Mentions(status, kKey));
    CHECK(Mentions(status, "[key]"));
  }
}

TEST_CASE("a refused connection is unavailable") {
  std::unique_ptr<Clock> clock = MakeSystemClock();
  std::string dead_url;
  { dead_url = ScriptedServer({Says("")}).base_url(); }
  auto client = OpenAiClient::Create({.base_url = dead_url}, *clock);
  REQUIRE(client.ok());
  const LlmRequest request{.model = "m", .messages = {{LlmMessage::Role::kUser, "x"}}};
  const absl::Status status = (*client)->Generate({.request = request, .stop = {}, .deadline = clock->Now() + absl::Seconds(5)}).status();
  CHECK(absl::IsUnavailable(status));
  CHECK(ReadRetryAdvice(status).retry);
  CHECK_FALSE(ReadSpentUsage(status).has_value());
}

TEST_CASE("many calls share one client") {
  Fixture fixture({Says(StreamHeader() + TextEvent("a") + TextEvent("b") + EndEvents())});
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) {
        std::stop_source source;
        const LlmCall call{.request = fixture.request, .stop = source.get_token(), .deadline = fixture.clock->Now() + absl::Seconds(20)};
        if (j % 4 == 3) source.request_stop();
        const auto reply = fixture.client->Generate(call);
        if (j % 4 == 3 ? absl::IsCancelled(reply.status()) : reply.ok() && reply->text == "ab") ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 160);
}

TEST_CASE("hosts are read from addresses") {
  CHECK(HostOf("https://api.openai.com/v1") == "api.openai.com");
  CHECK(HostOf("http://user:word@host:80/x@y") == "host");
  CHECK(HostOf("http://[::1]:8000/v1") == "[::1]");
  CHECK(IsLoopbackUrl("http://127.0.0.1:8000/v1"));
  CHECK(IsLoopbackUrl("http://localhost/v1"));
  CHECK(IsLoopbackUrl("http://[::1]:8000/v1"));
  CHECK_FALSE(IsLoopbackUrl("http://127.0.0.1.example.com/v1"));
  CHECK_FALSE(IsLoopbackUrl("http://10.0.0.1/v1"));
}

}  // namespace
}  // namespace maxkernel::llm
