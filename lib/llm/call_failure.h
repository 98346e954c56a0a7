// What the parts of the LLM stack tell each other about a failed call, carried as payloads of an absl::Status.
#ifndef MAXKERNEL_LIB_LLM_CALL_FAILURE_H_
#define MAXKERNEL_LIB_LLM_CALL_FAILURE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lib/llm/http_transport.h"
#include "maxkernel/llm/llm_client.h"

namespace maxkernel::llm {

// A service that asks for a longer pause than this is treated as down: whoever schedules can do something else meanwhile.
inline constexpr absl::Duration kLongestRetryAfter = absl::Seconds(120);

struct RetryAdvice {
  bool retry = false;
  absl::Duration at_least = absl::ZeroDuration();  // what the service asked for
};

// By the status' payload if it has one, else by its code: unavailable and exhausted services are worth another try.
RetryAdvice ReadRetryAdvice(const absl::Status& status);
absl::Status WithRetryAdvice(absl::Status status, const RetryAdvice& advice);

// Tokens that a failed call is likely to be billed for.
absl::Status WithSpentUsage(absl::Status status, const LlmUsage& usage);
std::optional<LlmUsage> ReadSpentUsage(const absl::Status& status);

// The prompt is longer than the model's context.
bool IsContextOverflow(const absl::Status& status);

// An HTTP answer other than 200, from its status line, header and body (OpenAI's error object if it has one). `secret` never appears.
absl::Status FailureFromResponse(const HttpHeader& header, std::string_view body, std::string_view secret, absl::Time now);

// An error object in the middle of a stream or under HTTP 200: {"message", "type", "code"}, a string, or anything else.
absl::Status FailureFromErrorJson(std::string_view error_json, std::string_view secret);

// A transfer that libcurl gave up on.
absl::Status FailureFromTransfer(const HttpEnd& end);

// The pause that the header asks for; nullopt for none or for text that is none.
std::optional<absl::Duration> ParseRetryAfter(const HttpHeader& header, absl::Time now);

// `text` on one line, at most `limit` bytes, without control characters, and with `secret` blotted out.
std::string Excerpt(std::string_view text, std::string_view secret, std::size_t limit = 300);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_CALL_FAILURE_H_
