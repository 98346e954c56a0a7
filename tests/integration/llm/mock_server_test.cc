// The client as users get it, against a server process with every fault.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "maxkernel/llm/llm_factory.h"
#include "tests/integration/llm/server_process.h"

namespace maxkernel::llm {
namespace {

ServerProcess& Mock() {
  static ServerProcess server({"python3", MAXKERNEL_MOCK_SERVER});
  return server;
}

class CountingObserver : public LlmObserver {
 public:
  void OnRetry(const LlmRequest&, const absl::Status& failure, absl::Duration pause) override {
    const std::scoped_lock lock(mutex);
    failures.push_back(failure);
    pauses.push_back(pause);
  }
  void OnReply(const LlmRequest&, const absl::StatusOr<LlmReply>&, absl::Duration) override {
    const std::scoped_lock lock(mutex);
    ++replies;
  }
  std::mutex mutex;
  std::vector<absl::Status> failures;
  std::vector<absl::Duration> pauses;
  int replies = 0;
};

struct Session {
  explicit Session(std::string model) : clock(MakeSystemClock()) {
    REQUIRE(Mock().port() != 0);
    options.base_url = Mock().base_url();
    options.model = std::move(model);
    options.price = {.input = 1'000'000, .cached_input = 100'000, .output = 10'000'000};
    options.retries = 3;
    options.idle_timeout = absl::Seconds(5);
  }

  absl::StatusOr<LlmReply> Ask(absl::Duration time = absl::Seconds(30)) {
    if (client == nullptr) {
      auto made = MakeLlmClient(options, *clock, &observer);
      if (!made.ok()) return made.status();
      client = *std::move(made);
    }
    const LlmRequest request{.model = options.model, .messages = {{LlmMessage::Role::kUser, "tell me about tiles"}}};
    return client->Generate({.request = request, .stop = stop.get_token(), .deadline = clock->Now() + time});
  }

  std::unique_ptr<Clock> clock;
  LlmOptions options;
  CountingObserver observer;
  std::stop_source stop;
  std::unique_ptr<LlmClient> client;
};

constexpr char kEcho[] = "echo: tell me about tiles";  // 25 characters: 6 tokens; the prompt has 19: 4, of which 2 are cached

TEST_CASE("a healthy server answers") {
  Session session("ok");
  const absl::StatusOr<LlmReply> reply = session.Ask();
  REQUIRE(reply.ok());
  CHECK(reply->text == kEcho);
  CHECK(reply->usage == LlmUsage{.input_tokens = 4, .cached_input_tokens = 2, .output_tokens = 6, .reported = true});
  CHECK(reply->microdollars == 63);  // 2 * 1 + 2 * 0.1 + 6 * 10 = 62.2, rounded up
  CHECK(session.observer.replies == 1);
}

TEST_CASE("passing faults are survived") {
  struct Expected {
    const char* model;
    std::size_t retries;
  };
  const Expected expected = GENERATE(Expected{"rate_limited", 1}, Expected{"server_error", 2}, Expected{"broken_stream", 1},
                                     Expected{"malformed", 1}, Expected{"stream_error", 1});
  Session session(expected.model);
  const absl::StatusOr<LlmReply> reply = session.Ask();
  INFO(expected.model << ": " << reply.status());
  REQUIRE(reply.ok());
  CHECK(reply->text == kEcho);
  CHECK(session.observer.failures.size() == expected.retries);
  if (session.options.model == "rate_limited") CHECK(session.observer.pauses.at(0) >= absl::Milliseconds(200));
  if (session.options.model == "broken_stream") {
    CHECK_FALSE(reply->usage.reported);
    CHECK(reply->usage.output_tokens > 6);  // what was lost counts too
  }
}

TEST_CASE("lasting faults end with their own status") {
  struct Expected {
    const char* model;
    absl::StatusCode code;
    std::size_t retries;
  };
  const Expected expected = GENERATE(
      Expected{"rate_limited_long", absl::StatusCode::kResourceExhausted, 0}, Expected{"always_500", absl::StatusCode::kUnavailable, 3},
      Expected{"quota", absl::StatusCode::kResourceExhausted, 0}, Expected{"always_broken", absl::StatusCode::kUnavailable, 3},
      Expected{"done_without_end", absl::StatusCode::kUnavailable, 3}, Expected{"html", absl::StatusCode::kUnavailable, 3},
      Expected{"needs_key", absl::StatusCode::kUnauthenticated, 0}, Expected{"unheard_of", absl::StatusCode::kInvalidArgument, 0});
  Session session(expected.model);
  session.options.api_key = "wrong-key-0123";
  const absl::Status status = session.Ask().status();
  INFO(status);
  CHECK(status.code() == expected.code);
  CHECK(session.observer.failures.size() == expected.retries);
  CHECK_FALSE(absl::StrContains(status.message(), "wrong-key-0123"));
}

TEST_CASE("the right key opens") {
  Session session("needs_key");
  session.options.api_key = "right-key";
  CHECK(session.Ask().ok());
}

TEST_CASE("a certificate that is not trusted ends the call, and the key stays here") {
  ServerProcess server({"python3", MAXKERNEL_MOCK_SERVER, "--tls"});
  REQUIRE(server.port() != 0);
  Session session("ok");
  session.options.base_url = "https://127.0.0.1:" + std::to_string(server.port()) + "/v1";
  session.options.api_key = "right-key";
  const absl::Status status = session.Ask().status();
  INFO(status);
  CHECK(absl::IsUnavailable(status));
  CHECK(absl::StrContains(status.message(), "certificate"));
  CHECK(session.observer.failures.empty());
}

TEST_CASE("a slow answer is waited for and a silent server is not") {
  Session slow("slow");
  slow.options.idle_timeout = absl::Seconds(1);
  const absl::StatusOr<LlmReply> reply = slow.Ask();
  REQUIRE(reply.ok());
  CHECK(reply->text == "slowly");

  Session silent("silent");
  silent.options.idle_timeout = absl::Milliseconds(100);
  silent.options.retries = 0;
  CHECK(absl::IsUnavailable(silent.Ask().status()));
}

TEST_CASE("a silent server is left at the deadline or when told to") {
  Session session("silent");
  CHECK(absl::IsDeadlineExceeded(session.Ask(absl::Milliseconds(200)).status()));
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    session.stop.request_stop();
  });
  const absl::Time started = session.clock->Now();
  CHECK(absl::IsCancelled(session.Ask().status()));
  CHECK(session.clock->Now() - started < absl::Seconds(3));
  stopper.join();
}

TEST_CASE("usage is estimated where there is none") {
  const char* model = GENERATE("no_usage", "no_stream_options");
  Session session(model);
  const absl::StatusOr<LlmReply> reply = session.Ask();
  REQUIRE(reply.ok());
  CHECK_FALSE(reply->usage.reported);
  CHECK(reply->usage.input_tokens >= 4);
  CHECK(reply->usage.output_tokens >= 6);
  CHECK(reply->microdollars > 63);
}

TEST_CASE("a server that does not stream is understood") {
  Session session("not_streaming");
  const absl::StatusOr<LlmReply> reply = session.Ask();
  REQUIRE(reply.ok());
  CHECK(reply->text == "in one piece");
}

TEST_CASE("an endless answer is cut off") {
  Session session("huge");
  CHECK(absl::IsOutOfRange(session.Ask().status()));
  CHECK(session.observer.failures.empty());
}

TEST_CASE("reasons to stop are told apart") {
  struct Expected {
    const char* model;
    StopReason reason;
  };
  const Expected expected = GENERATE(Expected{"length", StopReason::kLength}, Expected{"filter", StopReason::kRefusal},
                                     Expected{"refusal", StopReason::kRefusal}, Expected{"reasoning", StopReason::kEnd});
  Session session(expected.model);
  const absl::StatusOr<LlmReply> reply = session.Ask();
  REQUIRE(reply.ok());
  CHECK(reply->stop_reason == expected.reason);
  if (session.options.model == "reasoning") CHECK(reply->text == "42");
  if (session.options.model == "refusal") CHECK(reply->text == "I cannot do that.");
}

TEST_CASE("what was recorded replays without a server") {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("cassette-" + std::to_string(getpid()) + ".jsonl");
  std::filesystem::remove(file);
  absl::StatusOr<LlmReply> recorded;
  {
    Session session("ok");
    session.options.cassette = LlmOptions::Cassette::kRecord;
    session.options.cassette_file = file;
    recorded = session.Ask();
    REQUIRE(recorded.ok());
  }
  Session session("ok");
  session.options.cassette = LlmOptions::Cassette::kReplay;
  session.options.cassette_file = file;
  session.options.base_url = "";
  CHECK(*session.Ask() == *recorded);
  CHECK(absl::IsNotFound(session.Ask().status()));  // it was recorded once
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace maxkernel::llm
