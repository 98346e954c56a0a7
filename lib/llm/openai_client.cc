#include "lib/llm/openai_client.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/llm/call_failure.h"
#include "lib/llm/sse_parser.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::llm {
namespace {

using internal::ToAbsl;

constexpr int kMostFallbacks = 2;
constexpr std::size_t kMaximumErrorBody = 64 << 10;
constexpr absl::Duration kAfterTheEnd = absl::Seconds(2);  // for the usage that may follow an answer's end
constexpr int kFirstByteIdles = 3;
constexpr int kContentIdles = 5;

bool HasType(const HttpHeader& header, const char* type) {
  return absl::StartsWithIgnoreCase(header.content_type, type);
}

// Feeds an answer's bytes, as they come, to whichever reader its header calls for.
class AnswerReader {
 public:
  AnswerReader(const LlmCall& call, const std::string& secret)
      : secret_(secret),
        stream_(call.request, call.on_text, secret),
        parser_([this](const SseEvent& event) { stream_.TakeEvent(event); }) {}

  absl::Status Take(const HttpHeader& header, std::string_view bytes) {
    if (IsEventStream(header)) return parser_.Feed(bytes);
    // Anything else is read as a whole, once it is complete; of an error's text the beginning is enough.
    const bool is_answer = header.status == 200 && HasType(header, "application/json");
    const std::size_t room = is_answer ? bytes.size() : kMaximumErrorBody - std::min(kMaximumErrorBody, body_.size());
    body_.append(bytes.substr(0, room));
    return absl::OkStatus();
  }

  // The body is over.
  absl::Status Close(const HttpHeader& header, absl::Time now) {
    if (header.status != 200) return FailureFromResponse(header, body_, secret_, now);
    if (HasType(header, "application/json")) {
      stream_.TakeWhole(body_);
      return absl::OkStatus();
    }
    if (!IsEventStream(header)) {
      return absl::UnavailableError(absl::StrCat("the service answered with content type \"", Excerpt(header.content_type, secret_, 80),
                                                 "\" in place of an event stream: ", Excerpt(body_, secret_)));
    }
    if (const std::optional<SseEvent> rest = parser_.Finish(); rest.has_value()) stream_.TakeEvent(*rest);
    if (!stream_.started() && parser_.stray().find("\"error\"") != std::string::npos) {
      stream_.TakeEvent({.name = "", .data = parser_.stray()});
    } else if (!stream_.started() && !parser_.stray().empty()) {
      return absl::UnavailableError(absl::StrCat("the service sent no event stream but: ", Excerpt(parser_.stray(), secret_)));
    }
    return absl::OkStatus();
  }

  const ChatStream& stream() const { return stream_; }
  const std::string& body() const { return body_; }

 private:
  static bool IsEventStream(const HttpHeader& header) {
    return header.status == 200 && (header.content_type.empty() || HasType(header, "text/event-stream"));
  }

  const std::string& secret_;
  ChatStream stream_;
  SseParser parser_;
  std::string body_;
};

}  // namespace

std::string_view HostOf(std::string_view url) {
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) url.remove_prefix(at + 1);
  if (url.starts_with('[')) return url.substr(0, url.find(']') + 1);
  return url.substr(0, url.find(':'));
}

bool IsLoopbackUrl(std::string_view url) {
  const std::string_view host = HostOf(url);
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

struct OpenAiClient::Answer {
  absl::StatusOr<LlmReply> reply;
  int http_status = 0;
  std::string error_body;
};

absl::StatusOr<std::unique_ptr<OpenAiClient>> OpenAiClient::Create(OpenAiClientOptions options, Clock& clock) {
  absl::StatusOr<std::unique_ptr<HttpTransport>> transport = HttpTransport::Create();
  if (!transport.ok()) return transport.status();
  return std::unique_ptr<OpenAiClient>(new OpenAiClient(std::move(options), clock, *std::move(transport)));
}

OpenAiClient::OpenAiClient(OpenAiClientOptions options, Clock& clock, std::unique_ptr<HttpTransport> transport)
    : options_(std::move(options)), clock_(clock), transport_(std::move(transport)) {}

absl::StatusOr<LlmReply> OpenAiClient::Generate(const LlmCall& call) {
  ChatDialect dialect = DialectOf(call.request.model);
  for (int fallbacks = 0;; ++fallbacks) {
    Answer answer = Attempt(call, dialect);
    const bool refused = answer.http_status == 400 || answer.http_status == 422;
    if (!refused || fallbacks == kMostFallbacks || IsContextOverflow(answer.reply.status())) return std::move(answer.reply);
    const std::optional<ChatDialect> other = WithoutRefusedParameter(call.request, dialect, answer.error_body);
    if (!other.has_value()) return std::move(answer.reply);
    dialect = *other;
    Remember(call.request.model, dialect);
  }
}

OpenAiClient::Answer OpenAiClient::Attempt(const LlmCall& call, const ChatDialect& dialect) {
  const absl::Duration total = call.deadline - clock_.Now();
  if (call.stop.stop_requested()) return {absl::CancelledError("cancelled before the request was sent"), 0, ""};
  if (total <= absl::ZeroDuration()) return {absl::DeadlineExceededError("no time was left to ask the model"), 0, ""};

  // Limits run on the monotonic clock: a wall clock that is set must not end or prolong a call.
  using Steady = std::chrono::steady_clock;
  const Steady::time_point started = Steady::now();
  const auto since = [](Steady::time_point begin) { return absl::FromChrono(Steady::now() - begin); };
  Steady::time_point last_byte = started;
  Steady::time_point last_content = started;

  AnswerReader reader(call, options_.api_key);
  const auto spent = [&](absl::Status status) {
    return Answer{WithSpentUsage(std::move(status), reader.stream().Usage()), 0, ""};
  };
  const std::unique_ptr<HttpExchange> exchange = transport_->Start(MakePost(MakeChatBody(call.request, dialect)), call.stop);
  bool any_byte = false;
  std::string bytes;
  for (;;) {
    const bool complete = reader.stream().complete();
    const absl::Duration idle_limit = complete ? kAfterTheEnd : any_byte ? options_.idle_timeout : kFirstByteIdles * options_.idle_timeout;
    const absl::Duration content_limit = std::max(kContentIdles * options_.idle_timeout, idle_limit);
    const absl::Duration wait =
        std::min({total - since(started), idle_limit - since(last_byte), content_limit - since(last_content)});
    const HttpExchange::Got got = exchange->Read(wait, &bytes);
    if (got == HttpExchange::Got::kStopped) return spent(absl::CancelledError("cancelled while the model answered"));
    if (got == HttpExchange::Got::kTimeout) {
      if (complete) break;
      if (since(started) >= total) return spent(absl::DeadlineExceededError("the model did not finish before the deadline"));
      if (since(last_byte) < idle_limit && since(last_content) < content_limit) continue;
      return spent(absl::UnavailableError(absl::StrCat(
          "no ", since(last_byte) >= idle_limit ? "byte" : "part of an answer", " from the service for ",
          absl::FormatDuration(since(last_byte) >= idle_limit ? idle_limit : content_limit))));
    }
    if (got == HttpExchange::Got::kEnd) {
      const HttpEnd end = exchange->end();
      if (end.kind != HttpEnd::Kind::kComplete && !complete) {
        const absl::Status failure = FailureFromTransfer(end);
        return reader.stream().started() ? spent(failure) : Answer{failure, 0, ""};
      }
      if (complete) break;
      const HttpHeader header = exchange->header();
      if (absl::Status status = reader.Close(header, clock_.Now()); !status.ok()) return {status, header.status, reader.body()};
      break;
    }
    last_byte = Steady::now();
    any_byte = true;
    const std::size_t events_before = reader.stream().events();
    if (absl::Status status = reader.Take(exchange->header(), bytes); !status.ok()) {
      if (!complete) return spent(absl::UnavailableError(status.message()));
      break;
    }
    if (reader.stream().done()) break;
    if (reader.stream().events() > events_before) last_content = last_byte;
  }
  return {reader.stream().Finish(), 0, ""};
}

HttpPost OpenAiClient::MakePost(std::string body) const {
  HttpPost post;
  post.url = absl::StrCat(options_.base_url, "/chat/completions");
  post.headers = {"Content-Type: application/json", "Accept: text/event-stream", "Expect:"};
  if (!options_.api_key.empty()) post.headers.push_back(absl::StrCat("Authorization: Bearer ", options_.api_key));
  post.body = std::move(body);
  post.maximum_body = options_.maximum_answer;
  if (IsLoopbackUrl(options_.base_url)) post.proxy = HttpPost::Proxy::kNone;
  return post;
}

ChatDialect OpenAiClient::DialectOf(const std::string& model) {
  internal::MutexLock lock(mutex_);
  const auto known = dialects_.find(model);
  if (known != dialects_.end()) return known->second;
  // Compatible servers all know max_tokens, and some ignore the newer name without a word; OpenAI's own newer models refuse it.
  ChatDialect dialect;
  if (absl::EndsWith(ToAbsl(HostOf(options_.base_url)), "openai.com")) {
    dialect.output_limit = ChatDialect::OutputLimit::kMaxCompletionTokens;
  }
  return dialect;
}

void OpenAiClient::Remember(const std::string& model, const ChatDialect& dialect) {
  internal::MutexLock lock(mutex_);
  dialects_[model] = dialect;
}

}  // namespace maxkernel::llm
