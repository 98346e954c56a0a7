#include <fstream>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

#include "lib/llm/assemble.h"
#include "lib/llm/call_failure.h"
#include "lib/llm/cassette.h"
#include "lib/llm/observe.h"
#include "lib/llm/price.h"
#include "lib/llm/rate_limit.h"
#include "lib/llm/request_key.h"
#include "lib/llm/retry.h"
#include "maxkernel/llm/llm_factory.h"
#include "tests/unit/llm/fakes.h"

namespace maxkernel::llm {
namespace {

using Catch::Contains;

struct World {
  VirtualClock clock;
  VirtualWaiter waiter{clock};
  LlmRequest request{.model = "m", .messages = {{LlmMessage::Role::kUser, "hello"}}};
  std::stop_source stop;

  absl::StatusOr<LlmReply> Ask(LlmClient& client, absl::Duration time = absl::Hours(1)) {
    return client.Generate({.request = request, .stop = stop.get_token(), .deadline = clock.Now() + time, .on_text = {}});
  }
};

std::string Message(const absl::Status& status) { return std::string(status.message()); }

struct RetryWorld : World {
  explicit RetryWorld(std::vector<absl::StatusOr<LlmReply>> answers, RetryOptions options = {}) {
    auto fake = std::make_unique<FakeClient>(std::move(answers));
    inner = fake.get();
    client = std::make_unique<RetryDecorator>(std::move(fake), options, clock, waiter, nullptr);
  }
  FakeClient* inner;
  std::unique_ptr<RetryDecorator> client;
};

TEST_CASE("retry asks again until there is an answer") {
  RetryWorld world({absl::UnavailableError("down"), absl::ResourceExhaustedError("slow down"), Reply("ok")});
  const auto reply = world.Ask(*world.client);
  REQUIRE(reply.ok());
  CHECK(reply->text == "ok");
  CHECK(world.inner->requests.size() == 3);
  CHECK(world.waiter.waits.size() == 2);
}

TEST_CASE("retry gives up after its attempts") {
  RetryWorld world({absl::UnavailableError("down")}, {.retries = 3});
  const auto reply = world.Ask(*world.client);
  CHECK(absl::IsUnavailable(reply.status()));
  CHECK_THAT(Message(reply.status()), Contains("down; gave up after 4 attempts"));
  CHECK(world.inner->requests.size() == 4);
}

TEST_CASE("retry leaves alone what a repetition does not mend") {
  const absl::Status status = GENERATE(absl::InvalidArgumentError("x"), absl::UnauthenticatedError("x"), absl::PermissionDeniedError("x"),
                                       absl::CancelledError("x"), absl::DeadlineExceededError("x"),
                                       WithRetryAdvice(absl::ResourceExhaustedError("quota"), {.retry = false}));
  RetryWorld world({status});
  CHECK(world.Ask(*world.client).status().code() == status.code());
  CHECK(world.inner->requests.size() == 1);
}

TEST_CASE("pauses grow, are drawn anew and stay below the cap") {
  RetryWorld world({absl::UnavailableError("down")}, {.retries = 40, .base = absl::Seconds(1), .cap = absl::Seconds(10)});
  CHECK_FALSE(world.Ask(*world.client, absl::Hours(100)).ok());
  REQUIRE(world.waiter.waits.size() == 40);
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK(world.waiter.waits[i] >= absl::ZeroDuration());
    CHECK(world.waiter.waits[i] <= std::min(absl::Seconds(10), absl::Seconds(1) * (std::int64_t{1} << std::min<std::size_t>(i, 10))));
  }
  absl::Duration late;
  for (std::size_t i = 10; i < 40; ++i) late += world.waiter.waits[i];
  CHECK(late / 30 > absl::Seconds(3));  // the mean of [0, 10) is 5
  CHECK(late / 30 < absl::Seconds(7));
  const std::vector<absl::Duration> first = world.waiter.waits;
  world.waiter.waits.clear();
  CHECK_FALSE(world.Ask(*world.client, absl::Hours(100)).ok());
  CHECK(world.waiter.waits != first);  // equal requests do not come back in step

  RetryWorld again({absl::UnavailableError("down")}, {.retries = 40, .base = absl::Seconds(1), .cap = absl::Seconds(10)});
  CHECK_FALSE(again.Ask(*again.client, absl::Hours(100)).ok());
  CHECK(again.waiter.waits == first);  // but they are reproducible
}

TEST_CASE("a pause that the service asks for is kept") {
  RetryWorld world({WithRetryAdvice(absl::UnavailableError("down"), {.retry = true, .at_least = absl::Seconds(77)}), Reply("ok")});
  CHECK(world.Ask(*world.client).ok());
  CHECK(world.waiter.waits.at(0) == absl::Seconds(77));
}

TEST_CASE("retry respects deadline and cancellation") {
  const auto down = WithRetryAdvice(absl::UnavailableError("down"), {.retry = true, .at_least = absl::Seconds(60)});
  RetryWorld late({down});
  const auto reply = late.Ask(*late.client, absl::Seconds(30));
  CHECK(absl::IsUnavailable(reply.status()));
  CHECK_THAT(Message(reply.status()), Contains("no time is left"));
  CHECK(late.waiter.waits.empty());

  RetryWorld stopped({down});
  stopped.stop.request_stop();
  CHECK(absl::IsCancelled(stopped.Ask(*stopped.client).status()));
  CHECK(stopped.inner->requests.size() == 1);
}

TEST_CASE("what failed attempts cost is added to the answer's usage") {
  const absl::Status broke = WithSpentUsage(absl::UnavailableError("broke"), {.input_tokens = 50, .cached_input_tokens = 5, .output_tokens = 7});
  RetryWorld world({broke, broke, Reply("ok", 100, 10)});
  const auto reply = world.Ask(*world.client);
  REQUIRE(reply.ok());
  CHECK(reply->usage == LlmUsage{.input_tokens = 200, .cached_input_tokens = 10, .output_tokens = 24, .reported = false});

  RetryWorld hopeless({broke}, {.retries = 1});
  CHECK(ReadSpentUsage(hopeless.Ask(*hopeless.client).status())->output_tokens == 14);
}

TEST_CASE("the system's waiter waits, and stops when told to") {
  const std::unique_ptr<Waiter> waiter = MakeSystemWaiter();
  std::stop_source source;
  CHECK(waiter->Wait(absl::Milliseconds(5), source.get_token()));
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.request_stop();
  });
  CHECK_FALSE(waiter->Wait(absl::Seconds(30), source.get_token()));
  stopper.join();
  CHECK_FALSE(waiter->Wait(absl::Seconds(30), source.get_token()));
}

TEST_CASE("the rate limit lets a burst pass and then keeps the rate") {
  World world;
  auto fake = std::make_unique<FakeClient>(std::vector<absl::StatusOr<LlmReply>>{Reply("ok")});
  RateLimitDecorator limited(std::move(fake), 60, world.clock, world.waiter);
  const absl::Time started = world.clock.Now();
  for (int i = 0; i < 5; ++i) CHECK(world.Ask(limited).ok());
  CHECK(world.waiter.waits.empty());
  for (int i = 0; i < 60; ++i) CHECK(world.Ask(limited).ok());
  CHECK(absl::ToDoubleSeconds(world.clock.Now() - started) == Approx(60));
  CHECK(world.waiter.waits.size() == 60);
  world.clock.Advance(absl::Hours(1));
  world.waiter.waits.clear();
  for (int i = 0; i < 5; ++i) CHECK(world.Ask(limited).ok());
  CHECK(world.waiter.waits.empty());
  world.clock.Advance(-absl::Hours(5));  // the clock was set back
  CHECK(world.Ask(limited).ok());
  REQUIRE(world.waiter.waits.size() == 1);
  CHECK(world.waiter.waits[0] <= absl::Seconds(1));
}

TEST_CASE("the rate limit does not keep a request beyond its deadline") {
  World world;
  RateLimitDecorator limited(std::make_unique<FakeClient>(std::vector<absl::StatusOr<LlmReply>>{Reply("ok")}), 1, world.clock, world.waiter);
  CHECK(world.Ask(limited).ok());
  for (int i = 0; i < 100; ++i) CHECK(absl::IsDeadlineExceeded(world.Ask(limited, absl::Seconds(10)).status()));
  world.waiter.waits.clear();
  CHECK(world.Ask(limited).ok());
  CHECK(world.waiter.waits == std::vector<absl::Duration>{absl::Minutes(1)});  // those that gave up took nothing
  world.stop.request_stop();
  for (int i = 0; i < 100; ++i) CHECK(absl::IsCancelled(world.Ask(limited).status()));
  world.stop = std::stop_source();
  world.waiter.waits.clear();
  CHECK(world.Ask(limited).ok());
  CHECK(world.waiter.waits == std::vector<absl::Duration>{absl::Minutes(1)});
}

TEST_CASE("prices are in microdollars, rounded up") {
  const ModelPrice price{.input = 3'000'000, .cached_input = 300'000, .output = 15'000'000};
  CHECK(PriceOf({}, price) == 0);
  CHECK(PriceOf({.input_tokens = 1'000'000}, price) == 3'000'000);
  CHECK(PriceOf({.input_tokens = 1'000'000, .cached_input_tokens = 1'000'000}, price) == 300'000);
  CHECK(PriceOf({.input_tokens = 100, .cached_input_tokens = 40, .output_tokens = 20}, price) == 492);
  CHECK(PriceOf({.cached_input_tokens = 0, .output_tokens = 1}, {.output = 1}) == 1);
  CHECK(PriceOf({.input_tokens = 10, .cached_input_tokens = 50}, price) == 3);  // not below zero
  CHECK(PriceOf({.output_tokens = 1'000'000'000'000}, {.output = 1'000'000'000'000'000}) > 0);  // no overflow
}

TEST_CASE("keys depend on what is asked, and on nothing else") {
  const LlmRequest request{.model = "m", .messages = {{LlmMessage::Role::kUser, "a\nb"}}, .max_output_tokens = 5};
  const std::string key = RequestKey(request);
  CHECK(key.size() == 64);
  LlmRequest other = request;
  other.messages[0].text = "a\r\nb";
  CHECK(RequestKey(other) == key);
  const auto differs = [&](auto change) {
    LlmRequest changed = request;
    change(changed);
    return RequestKey(changed) != key;
  };
  CHECK(differs([](LlmRequest& r) { r.model = "n"; }));
  CHECK(differs([](LlmRequest& r) { r.messages[0].text = "c"; }));
  CHECK(differs([](LlmRequest& r) { r.messages[0].role = LlmMessage::Role::kSystem; }));
  CHECK(differs([](LlmRequest& r) { r.max_output_tokens = 6; }));
  CHECK(differs([](LlmRequest& r) { r.temperature = 0; }));
  CHECK(differs([](LlmRequest& r) { r.seed = 0; }));
}

TEST_CASE("replies survive being written down") {
  LlmReply reply = Reply("text \"quoted\" \xE2\x82\xAC\n", 1, 2);
  reply.stop_reason = GENERATE(StopReason::kEnd, StopReason::kLength, StopReason::kRefusal, StopReason::kOther);
  reply.usage.cached_input_tokens = 3;
  reply.microdollars = 1'234'567'890'123;
  const auto parsed = ParseReplyJson(ReplyJson(reply));
  REQUIRE(parsed.ok());
  CHECK(*parsed == reply);
  for (const char* broken : {"", "[]", "{}", "null", R"({"text": 3})"}) CHECK(absl::IsDataLoss(ParseReplyJson(broken).status()));
}

struct CassetteWorld : World {
  TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "cassette.jsonl";

  std::unique_ptr<RecordDecorator> Recorder(std::vector<absl::StatusOr<LlmReply>> answers, std::string secret = "") {
    auto opened = RecordDecorator::Open(file, std::move(secret), std::make_unique<FakeClient>(std::move(answers)));
    REQUIRE(opened.ok());
    return *std::move(opened);
  }
  std::string Contents() const {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void Write(const std::string& text) const { std::ofstream(file) << text; }
};

TEST_CASE("a cassette replays what was recorded, in order") {
  CassetteWorld world;
  {
    const auto recorder = world.Recorder({Reply("first"), Reply("second"), absl::UnavailableError("down"), Reply("third")});
    CHECK(world.Ask(*recorder)->text == "first");
    CHECK(world.Ask(*recorder)->text == "second");
    CHECK(absl::IsUnavailable(world.Ask(*recorder).status()));
    world.request.messages[0].text = "other";
    CHECK(world.Ask(*recorder)->text == "third");
  }
  auto replay = ReplayClient::Open(world.file);
  REQUIRE(replay.ok());
  CHECK(world.Ask(**replay)->text == "third");
  world.request.messages[0].text = "hello";
  CHECK(*world.Ask(**replay) == Reply("first"));
  CHECK(world.Ask(**replay)->text == "second");
  const absl::Status used = world.Ask(**replay).status();
  CHECK(absl::IsNotFound(used));
  CHECK_THAT(Message(used), Contains("all used"));
  world.request.messages[0].text = "never asked";
  CHECK_THAT(Message(world.Ask(**replay).status()), Contains("has no reply"));
}

TEST_CASE("recording adds to a cassette, over a line that a crash cut short") {
  CassetteWorld world;
  CHECK(world.Ask(*world.Recorder({Reply("first")})).ok());
  const std::string intact = world.Contents();
  world.Write(intact + intact.substr(0, 50));
  CHECK(ReadCassette(world.file)->intact_bytes == intact.size());
  CHECK(world.Ask(*world.Recorder({Reply("second")})).ok());
  const auto cassette = ReadCassette(world.file);
  REQUIRE(cassette.ok());
  CHECK(cassette->replies.at(RequestKey(world.request)).size() == 2);
}

TEST_CASE("a damaged cassette is an error that names the line") {
  CassetteWorld world;
  CHECK(world.Ask(*world.Recorder({Reply("first")})).ok());
  const std::string line = world.Contents();
  const std::string damaged = GENERATE_COPY(as<std::string>(), "not json\n", "{}\n", "{\"key\": \"a\"}\n", "{\"key\": \"a\", \"occurrence\": 0}\n",
                                            "{\"key\": \"a\", \"occurrence\": 0, \"reply\": {}}\n", line);
  world.Write(line + damaged);
  const absl::Status status = ReplayClient::Open(world.file).status();
  CHECK(absl::IsDataLoss(status));
  CHECK_THAT(Message(status), Contains("cassette.jsonl:2:"));
  CHECK(absl::IsDataLoss(RecordDecorator::Open(world.file, "", std::make_unique<FakeClient>(std::vector<absl::StatusOr<LlmReply>>{})).status()));
}

TEST_CASE("a cassette has one writer, no secrets and a clear error when it is missing") {
  CassetteWorld world;
  CHECK(absl::IsNotFound(ReplayClient::Open(world.file).status()));
  world.request.messages[0].text = "my key is sk-12345678";
  const auto recorder = world.Recorder({Reply("your key is sk-12345678")}, "sk-12345678");
  CHECK(world.Ask(*recorder).ok());
  CHECK_THAT(world.Contents(), !Contains("sk-12345678"));
  const auto second = RecordDecorator::Open(world.file, "", std::make_unique<FakeClient>(std::vector<absl::StatusOr<LlmReply>>{}));
  CHECK(absl::IsFailedPrecondition(second.status()));
  CHECK(absl::IsNotFound(RecordDecorator::Open(world.folder.path() / "no" / "folder", "", nullptr).status()));
}

TEST_CASE("equal requests from several threads get one occurrence each") {
  CassetteWorld world;
  std::vector<absl::StatusOr<LlmReply>> answers;
  for (int i = 0; i < 40; ++i) answers.push_back(Reply(std::to_string(i)));
  {
    const auto recorder = world.Recorder(answers);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) (void)world.Ask(*recorder);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  auto replay = ReplayClient::Open(world.file);
  REQUIRE(replay.ok());
  std::set<std::string> texts;
  for (int i = 0; i < 40; ++i) texts.insert(world.Ask(**replay)->text);
  CHECK(texts.size() == 40);
}

class NotingObserver : public LlmObserver {
 public:
  void OnRequest(const LlmRequest& request) override { notes.push_back("request " + request.model); }
  void OnRetry(const LlmRequest&, const absl::Status& failure, absl::Duration) override { notes.push_back("retry " + Message(failure)); }
  void OnReply(const LlmRequest&, const absl::StatusOr<LlmReply>& reply, absl::Duration duration) override {
    notes.push_back((reply.ok() ? reply->text : Message(reply.status())) + (duration >= absl::ZeroDuration() ? "" : " early"));
  }
  std::vector<std::string> notes;
};

TEST_CASE("observers hear of requests, retries and replies") {
  World world;
  NotingObserver observer;
  std::unique_ptr<LlmClient> client = std::make_unique<FakeClient>(std::vector<absl::StatusOr<LlmReply>>{absl::UnavailableError("down"), Reply("ok")});
  client = std::make_unique<RetryDecorator>(std::move(client), RetryOptions{}, world.clock, world.waiter, &observer);
  client = std::make_unique<ObserveDecorator>(std::move(client), world.clock, observer);
  CHECK(world.Ask(*client).ok());
  CHECK(observer.notes == std::vector<std::string>{"request m", "retry down", "ok"});
}

LlmOptions ValidOptions() {
  LlmOptions options;
  options.base_url = "https://api.example.com/v1";
  options.model = "m";
  return options;
}

TEST_CASE("the stack has the documented order") {
  World world;
  TemporaryFolder folder;
  NotingObserver observer;
  using Names = std::vector<std::string>;
  const auto stack = [&](const LlmOptions& options, LlmObserver* with) {
    auto client = AssembleStack(options, world.clock, world.waiter, with);
    REQUIRE(client.ok());
    return DescribeStack(**client);
  };
  LlmOptions options = ValidOptions();
  CHECK(stack(options, nullptr) == Names{"price", "retry", "transport"});
  options.requests_per_minute = 10;
  options.cassette = LlmOptions::Cassette::kRecord;
  options.cassette_file = folder.path() / "cassette.jsonl";
  CHECK(stack(options, &observer) == Names{"observe", "record", "price", "retry", "rate limit", "transport"});
  options.retries = 0;
  CHECK(stack(options, nullptr) == Names{"record", "price", "rate limit", "transport"});
  options.cassette = LlmOptions::Cassette::kReplay;
  CHECK(stack(options, &observer) == Names{"observe", "transport"});  // the cassette in its place
}

TEST_CASE("options that are none are refused by name") {
  CHECK(ValidOptions().Validate().ok());
  const auto refused = [](auto change) {
    LlmOptions options = ValidOptions();
    options.api_key = "sk-secret";
    change(options);
    const absl::Status status = options.Validate();
    CHECK(absl::IsInvalidArgument(status));
    CHECK_THAT(Message(status), !Contains("sk-secret"));
    VirtualClock clock;
    CHECK(MakeLlmClient(options, clock).status() == status);
    return Message(status);
  };
  CHECK_THAT(refused([](LlmOptions& o) { o.provider = "openai_compatable"; }), Contains("provider") && Contains("did you mean"));
  CHECK_THAT(refused([](LlmOptions& o) { o.model = ""; }), Contains("model is empty"));
  CHECK_THAT(refused([](LlmOptions& o) { o.base_url = ""; }), Contains("base_url is \"\""));
  CHECK_THAT(refused([](LlmOptions& o) { o.base_url = "api.example.com"; }), Contains("expected an address"));
  CHECK_THAT(refused([](LlmOptions& o) { o.base_url = "https:///v1"; }), Contains("names no host"));
  CHECK_THAT(refused([](LlmOptions& o) { o.base_url = "http://10.0.0.1/v1"; }), Contains("allow_plain_http"));
  CHECK_THAT(refused([](LlmOptions& o) { o.base_url = "https://me:sk-secret@host/v1"; }), Contains("user name"));
  CHECK_THAT(refused([](LlmOptions& o) { o.base_url = "https://host/v1?key=sk-secret"; }), Contains("'?'"));
  CHECK_THAT(refused([](LlmOptions& o) { o.base_url = "https://host/v1/chat/completions"; }), Contains("leave that off"));
  CHECK_THAT(refused([](LlmOptions& o) { o.base_url = "https://host/v1\r\nX: y"; }), Contains("control character"));
  CHECK_THAT(refused([](LlmOptions& o) { o.api_key = "sk-secret\n"; }), Contains("api_key has a line end"));
  CHECK_THAT(refused([](LlmOptions& o) { o.price.output = -1; }), Contains("price"));
  CHECK_THAT(refused([](LlmOptions& o) { o.max_output_tokens = 0; }), Contains("max_output_tokens is 0"));
  CHECK_THAT(refused([](LlmOptions& o) { o.max_output_tokens = o.context_tokens; }), Contains("less than context_tokens"));
  CHECK_THAT(refused([](LlmOptions& o) { o.temperature = 2.5; }), Contains("temperature is 2.5"));
  CHECK_THAT(refused([](LlmOptions& o) { o.retries = 1000; }), Contains("retries is 1000"));
  CHECK_THAT(refused([](LlmOptions& o) { o.idle_timeout = absl::ZeroDuration(); }), Contains("idle_timeout"));
  CHECK_THAT(refused([](LlmOptions& o) { o.cassette = LlmOptions::Cassette::kRecord; }), Contains("cassette_file is empty"));
  CHECK_THAT(refused([](LlmOptions& o) { o.cassette_file = "x"; }), Contains("cassette is off"));
  LlmOptions plain = ValidOptions();
  plain.base_url = "http://10.0.0.1/v1";
  plain.allow_plain_http = true;
  CHECK(plain.Validate().ok());
}

TEST_CASE("wishes for a pause are read in every form") {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);  // Tue, 14 Nov 2023 22:13:20 GMT
  const auto parse = [&](const std::string& seconds, const std::string& milliseconds = "") {
    return ParseRetryAfter({.retry_after = seconds, .retry_after_ms = milliseconds}, now);
  };
  CHECK(parse("2") == absl::Seconds(2));
  CHECK(parse("0.25") == absl::Milliseconds(250));
  CHECK(parse("9", "125") == absl::Milliseconds(125));
  CHECK(parse("Tue, 14 Nov 2023 22:13:50 GMT") == absl::Seconds(30));
  CHECK(parse("Tue, 14 Nov 2023 22:00:00 GMT") == absl::ZeroDuration());
  for (const char* none : {"", "-1", "nan", "inf", "soon"}) CHECK_FALSE(parse(none).has_value());
}

TEST_CASE("excerpts are short, clean and without secrets") {
  CHECK(Excerpt("a\nb\x1b[1m", "") == "a b [1m");
  CHECK(Excerpt("key sk-1 and sk-1", "sk-1") == "key [key] and [key]");
  CHECK(Excerpt(std::string(1000, 'x'), "", 10) == "xxxxxxxxxx\xE2\x80\xA6");
  CHECK(Excerpt("12345678\xE2\x82\xAC", "", 9) == "12345678\xE2\x80\xA6");
}

}  // namespace
}  // namespace maxkernel::llm
