#include "maxkernel/llm/llm_factory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/llm/assemble.h"
#include "lib/llm/cassette.h"
#include "lib/llm/observe.h"
#include "lib/llm/openai_client.h"
#include "lib/llm/price.h"
#include "lib/llm/rate_limit.h"
#include "lib/llm/retry.h"
#include "lib/llm/waiter.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel {
namespace {

constexpr char kOpenAiCompatible[] = "openai_compatible";

// Owns what the decorators of a stack refer to.
class Stack : public LlmClient {
 public:
  explicit Stack(std::unique_ptr<llm::Waiter> waiter) : waiter_(std::move(waiter)) {}

  absl::StatusOr<LlmReply> Generate(const LlmCall& call) override { return top_->Generate(call); }

  llm::Waiter& waiter() { return *waiter_; }
  void set_top(std::unique_ptr<LlmClient> top) { top_ = std::move(top); }

 private:
  const std::unique_ptr<llm::Waiter> waiter_;
  std::unique_ptr<LlmClient> top_;
};

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

absl::Status ValidateBaseUrl(const LlmOptions& options) {
  const std::string& url = options.base_url;
  const bool https = url.starts_with("https://");
  const bool http = url.starts_with("http://");
  if (HasControlCharacter(url) || url.find(' ') != std::string::npos) {
    return absl::InvalidArgumentError("base_url has a blank or a control character in it");
  }
  if (!https && !http) {
    return absl::InvalidArgumentError(
        absl::StrCat("base_url is \"", url, "\": expected an address such as https://host/v1 or http://127.0.0.1:8000/v1"));
  }
  if (llm::HostOf(url).empty()) return absl::InvalidArgumentError(absl::StrCat("base_url \"", url, "\" names no host"));
  if (url.substr(0, url.find('/', 8)).find('@') != std::string::npos) {
    return absl::InvalidArgumentError("base_url has a user name or password in it: give the key as api_key");
  }
  if (url.find_first_of("?#") != std::string::npos) {
    return absl::InvalidArgumentError("base_url has a '?' or '#' in it: expected a path that ends before /chat/completions");
  }
  if (url.ends_with("/chat/completions")) {
    return absl::InvalidArgumentError("base_url ends in /chat/completions: leave that off, it is added");
  }
  if (http && !llm::IsLoopbackUrl(url) && !options.allow_plain_http) {
    return absl::InvalidArgumentError(absl::StrCat("base_url \"", url,
                                                   "\" is plain http to another machine: use https, or set allow_plain_http"));
  }
  return absl::OkStatus();
}

absl::Status ValidateNumbers(const LlmOptions& options) {
  const ModelPrice& price = options.price;
  if (price.input < 0 || price.cached_input < 0 || price.output < 0) return absl::InvalidArgumentError("price is negative");
  if (options.context_tokens <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("context_tokens is ", options.context_tokens, ": expected a positive number"));
  }
  if (options.max_output_tokens <= 0 || options.max_output_tokens >= options.context_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("max_output_tokens is ", options.max_output_tokens,
                                                   ": expected 1 to less than context_tokens (", options.context_tokens, ")"));
  }
  if (options.temperature.has_value() && !(*options.temperature >= 0 && *options.temperature <= 2)) {
    return absl::InvalidArgumentError(absl::StrCat("temperature is ", *options.temperature, ": expected 0 to 2"));
  }
  if (options.retries > 100) return absl::InvalidArgumentError(absl::StrCat("retries is ", options.retries, ": expected 0 to 100"));
  if (options.idle_timeout <= absl::ZeroDuration() || options.idle_timeout > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        absl::StrCat("idle_timeout is ", absl::FormatDuration(options.idle_timeout), ": expected more than 0 and at most 24h"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LlmClient>> MakeTransport(const LlmOptions& options, Clock& clock) {
  std::string base_url = options.base_url;
  while (base_url.ends_with('/')) base_url.pop_back();
  return llm::OpenAiClient::Create(
      {.base_url = std::move(base_url), .api_key = options.api_key, .idle_timeout = options.idle_timeout}, clock);
}

}  // namespace

namespace llm {

absl::StatusOr<std::unique_ptr<LlmClient>> AssembleStack(const LlmOptions& options, Clock& clock, Waiter& waiter,
                                                         LlmObserver* observer) {
  std::unique_ptr<LlmClient> client;
  if (options.cassette == LlmOptions::Cassette::kReplay) {
    auto replay = ReplayClient::Open(options.cassette_file);
    if (!replay.ok()) return replay.status();
    client = *std::move(replay);
  } else {
    auto transport = MakeTransport(options, clock);
    if (!transport.ok()) return transport.status();
    client = *std::move(transport);
    if (options.requests_per_minute > 0) {
      client = std::make_unique<RateLimitDecorator>(std::move(client), options.requests_per_minute, clock, waiter);
    }
    if (options.retries > 0) {
      client = std::make_unique<RetryDecorator>(std::move(client), RetryOptions{.retries = options.retries}, clock, waiter, observer);
    }
    client = std::make_unique<PriceDecorator>(std::move(client), options.price);
    if (options.cassette == LlmOptions::Cassette::kRecord) {
      auto recorder = RecordDecorator::Open(options.cassette_file, options.api_key, std::move(client));
      if (!recorder.ok()) return recorder.status();
      client = *std::move(recorder);
    }
  }
  if (observer != nullptr) client = std::make_unique<ObserveDecorator>(std::move(client), clock, *observer);
  return client;
}

}  // namespace llm

absl::Status LlmOptions::Validate() const {
  if (provider != kOpenAiCompatible) {
    return absl::InvalidArgumentError(absl::StrCat("provider is \"", provider, "\": expected \"", kOpenAiCompatible, "\"",
                                                   internal::DidYouMean(provider, {kOpenAiCompatible})));
  }
  if (model.empty()) return absl::InvalidArgumentError("model is empty: expected the name by which the service knows it");
  if (cassette != Cassette::kReplay) {
    if (absl::Status status = ValidateBaseUrl(*this); !status.ok()) return status;
  }
  if (HasControlCharacter(api_key)) {
    return absl::InvalidArgumentError("api_key has a line end or control character in it: strip the file or variable it comes from");
  }
  if ((cassette == Cassette::kOff) != cassette_file.empty()) {
    return absl::InvalidArgumentError(cassette_file.empty() ? "cassette_file is empty: a cassette to record or replay needs one"
                                                            : "cassette_file is given, but cassette is off: expected record or replay");
  }
  return ValidateNumbers(*this);
}

absl::StatusOr<std::unique_ptr<LlmClient>> MakeLlmClient(const LlmOptions& options, Clock& clock, LlmObserver* observer) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  auto stack = std::make_unique<Stack>(llm::MakeSystemWaiter());
  auto top = llm::AssembleStack(options, clock, stack->waiter(), observer);
  if (!top.ok()) return top.status();
  stack->set_top(*std::move(top));
  return stack;
}

}  // namespace maxkernel
