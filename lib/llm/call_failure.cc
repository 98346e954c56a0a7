#include "lib/llm/call_failure.h"

#include <curl/curl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "maxkernel/internal/strings.h"
#include "nlohmann/json.hpp"

namespace maxkernel::llm {
namespace {

using Json = nlohmann::json;
using internal::ToAbsl;

constexpr char kRetryPayload[] = "maxkernel.llm/retry";              // "no", or milliseconds to wait at least
constexpr char kUsagePayload[] = "maxkernel.llm/usage";              // "input,cached,output"
constexpr char kOverflowPayload[] = "maxkernel.llm/context_overflow";

// What a service says about a failure, from whichever place it says it in.
struct ErrorWords {
  std::string message;
  std::string type;
  std::string code;
  std::string parameter;
};

std::string TextOf(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_primitive() ? found->dump() : "";
}

ErrorWords ReadErrorWords(const Json& error) {
  if (error.is_string()) return {.message = error.get<std::string>(), .type = "", .code = "", .parameter = ""};
  return {.message = TextOf(error, "message"),
          .type = TextOf(error, "type"),
          .code = TextOf(error, "code"),
          .parameter = TextOf(error, "param")};
}

bool ContainsAny(std::string_view text, std::initializer_list<const char*> needles) {
  const std::string lower = absl::AsciiStrToLower(ToAbsl(text));
  return std::any_of(needles.begin(), needles.end(), [&](const char* needle) { return lower.find(needle) != std::string::npos; });
}

bool MeansOverflow(const ErrorWords& words) {
  return ContainsAny(words.code, {"context_length_exceeded"}) || ContainsAny(words.type, {"exceed_context_size"}) ||
         ContainsAny(words.message, {"maximum context length", "prompt is too long", "exceeds the available context size",
                                     "exceed context window"});
}

// An account that is used up does not recover within a retry's time.
bool MeansEmptyAccount(const ErrorWords& words) {
  static constexpr std::initializer_list<const char*> kSigns = {"insufficient_quota", "credit_balance_exhausted", "spend_limit", "usage_limit_exceeded",
                           "billing_hard_limit", "insufficient_credits"};
  return ContainsAny(words.code, kSigns) || ContainsAny(words.type, kSigns);
}

absl::Status Final(absl::Status status) { return WithRetryAdvice(std::move(status), {.retry = false}); }

absl::Status OverflowFailure(std::string message) {
  absl::Status status = Final(absl::InvalidArgumentError(message));
  status.SetPayload(kOverflowPayload, absl::Cord("1"));
  return status;
}

bool IsWorthARetry(int http_status) {
  return http_status == 408 || http_status == 409 || http_status == 429 || http_status >= 500;
}

absl::Status StatusFor(int http_status, const ErrorWords& words, const std::string& message) {
  if (MeansOverflow(words)) return OverflowFailure(message);
  if (http_status == 401) return Final(absl::UnauthenticatedError(message));
  if (http_status == 403) return Final(absl::PermissionDeniedError(message));
  if (http_status == 402 || MeansEmptyAccount(words)) return Final(absl::ResourceExhaustedError(message));
  if (http_status == 429) return absl::ResourceExhaustedError(message);
  if (IsWorthARetry(http_status)) return absl::UnavailableError(message);
  return Final(absl::InvalidArgumentError(message));
}

std::string Describe(const ErrorWords& words, std::string_view fallback, std::string_view secret) {
  std::string text = words.message.empty() ? std::string(fallback) : words.message;
  const std::string& kind = words.code.empty() ? words.type : words.code;
  if (!kind.empty()) absl::StrAppend(&text, " (", kind, ")");
  return Excerpt(text, secret);
}

absl::Status ApplyRetryHeaders(absl::Status status, const HttpHeader& header, absl::Time now) {
  RetryAdvice advice = ReadRetryAdvice(status);
  const bool decided = status.GetPayload(kRetryPayload).has_value();
  if (!decided && header.should_retry == "false") return Final(std::move(status));
  if (!advice.retry) return status;
  const std::optional<absl::Duration> pause = ParseRetryAfter(header, now);
  if (!pause.has_value()) return status;
  if (*pause > kLongestRetryAfter) {
    return Final(absl::Status(status.code(), absl::StrCat(status.message(), "; it asks to come back in ",
                                                          absl::FormatDuration(*pause), ", at ", absl::FormatTime(now + *pause))));
  }
  advice.at_least = *pause;
  return WithRetryAdvice(std::move(status), advice);
}

}  // namespace

RetryAdvice ReadRetryAdvice(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryPayload);
  if (payload.has_value()) {
    std::int64_t milliseconds = 0;
    if (!absl::SimpleAtoi(std::string(*payload), &milliseconds)) return {.retry = false};
    return {.retry = true, .at_least = absl::Milliseconds(milliseconds)};
  }
  return {.retry = absl::IsUnavailable(status) || absl::IsResourceExhausted(status)};
}

absl::Status WithRetryAdvice(absl::Status status, const RetryAdvice& advice) {
  status.SetPayload(kRetryPayload, absl::Cord(advice.retry ? absl::StrCat(absl::ToInt64Milliseconds(advice.at_least)) : std::string("no")));
  return status;
}

absl::Status WithSpentUsage(absl::Status status, const LlmUsage& usage) {
  status.SetPayload(kUsagePayload, absl::Cord(absl::StrCat(usage.input_tokens, ",", usage.cached_input_tokens, ",", usage.output_tokens)));
  return status;
}

std::optional<LlmUsage> ReadSpentUsage(const absl::Status& status) {
  const auto payload = status.GetPayload(kUsagePayload);
  if (!payload.has_value()) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(std::string(*payload), ',');
  LlmUsage usage;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &usage.input_tokens) ||
      !absl::SimpleAtoi(parts[1], &usage.cached_input_tokens) || !absl::SimpleAtoi(parts[2], &usage.output_tokens)) {
    return std::nullopt;
  }
  return usage;
}

bool IsContextOverflow(const absl::Status& status) { return status.GetPayload(kOverflowPayload).has_value(); }

absl::Status FailureFromResponse(const HttpHeader& header, std::string_view body, std::string_view secret, absl::Time now) {
  if (header.status >= 300 && header.status < 400) {
    return Final(absl::InvalidArgumentError(absl::StrCat(
        "HTTP ", header.status, ": the service redirects; give its final address as base_url, redirects are not followed")));
  }
  const Json parsed = Json::parse(body, nullptr, false);
  const Json& object = parsed.is_array() && parsed.size() == 1 ? parsed[0] : parsed;
  const ErrorWords words =
      ReadErrorWords(object.is_object() && object.contains("error") && !object["error"].is_null() ? object["error"] : object);
  const std::string message = absl::StrCat("HTTP ", header.status, ": ", Describe(words, body.empty() ? "no body" : body, secret));
  return ApplyRetryHeaders(StatusFor(header.status, words, message), header, now);
}

absl::Status FailureFromErrorJson(std::string_view error_json, std::string_view secret) {
  const Json error = Json::parse(error_json, nullptr, false);
  const ErrorWords words = ReadErrorWords(error);
  const std::string message = absl::StrCat("error in the stream: ", Describe(words, error_json, secret));
  int status = 0;
  if (absl::SimpleAtoi(words.code, &status) && status >= 400 && status < 600) return StatusFor(status, words, message);
  if (ContainsAny(words.type, {"rate_limit"}) || ContainsAny(words.code, {"rate_limit"})) return StatusFor(429, words, message);
  if (ContainsAny(words.type, {"invalid_request", "invalid_argument", "badrequest"})) return StatusFor(400, words, message);
  if (ContainsAny(words.type, {"authentication"})) return StatusFor(401, words, message);
  if (ContainsAny(words.type, {"permission"})) return StatusFor(403, words, message);
  return StatusFor(500, words, message);
}

absl::Status FailureFromTransfer(const HttpEnd& end) {
  if (end.kind == HttpEnd::Kind::kTooLarge) return Final(absl::OutOfRangeError("the answer is larger than the limit"));
  const std::string message = absl::StrCat("no answer: ", end.message, " (libcurl ", end.curl_code, ")");
  switch (end.curl_code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return Final(absl::InvalidArgumentError(message));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return Final(absl::UnavailableError(message));
    default:
      return absl::UnavailableError(message);
  }
}

std::optional<absl::Duration> ParseRetryAfter(const HttpHeader& header, absl::Time now) {
  double value = 0;
  if (absl::SimpleAtod(header.retry_after_ms, &value) && std::isfinite(value) && value >= 0) return absl::Milliseconds(value);
  if (absl::SimpleAtod(header.retry_after, &value)) {
    if (std::isfinite(value) && value >= 0) return absl::Seconds(value);
    return std::nullopt;
  }
  absl::Time date;
  std::string error;
  if (absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", header.retry_after, &date, &error)) {
    return std::max(date - now, absl::ZeroDuration());
  }
  return std::nullopt;
}

std::string Excerpt(std::string_view text, std::string_view secret, std::size_t limit) {
  std::string clean(text.substr(0, std::max<std::size_t>(limit * 4, 4096)));
  if (!secret.empty()) {
    for (std::size_t at = clean.find(secret); at != std::string::npos; at = clean.find(secret, at)) {
      clean.replace(at, secret.size(), "[key]");
    }
  }
  std::replace_if(clean.begin(), clean.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  if (clean.size() <= limit) return clean;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(clean[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 character
  return clean.substr(0, end) + "…";
}

}  // namespace maxkernel::llm
