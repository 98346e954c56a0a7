#ifndef MAXKERNEL_LLM_LLM_CLIENT_H_
#define MAXKERNEL_LLM_LLM_CLIENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace maxkernel {

struct LlmMessage {
  enum class Role : std::uint8_t { kSystem, kUser, kAssistant };
  Role role = Role::kUser;
  std::string text;

  bool operator==(const LlmMessage&) const = default;
};

struct LlmRequest {
  std::string model;
  std::vector<LlmMessage> messages;
  std::int64_t max_output_tokens = 8192;
  std::optional<double> temperature;    // nullopt: the provider's default
  std::optional<std::uint64_t> seed;    // where the provider takes one

  bool operator==(const LlmRequest&) const = default;
};

enum class StopReason : std::uint8_t { kEnd, kLength, kRefusal, kOther };
std::string_view ToString(StopReason reason);

// Tokens as the provider counted them.
struct LlmUsage {
  std::int64_t input_tokens = 0;          // cached ones included
  std::int64_t cached_input_tokens = 0;
  std::int64_t output_tokens = 0;         // reasoning included
  bool reported = false;                  // false: estimated, since the provider sent none

  bool operator==(const LlmUsage&) const = default;
};

struct LlmReply {
  std::string text;
  StopReason stop_reason = StopReason::kEnd;
  std::string model;                      // as the provider names what answered
  LlmUsage usage;
  std::int64_t microdollars = 0;          // by the price table; 0 for a free or unknown model

  bool operator==(const LlmReply&) const = default;
};

// One call. Retries start the text over: on_text then gets the new attempt's text from its beginning.
struct LlmCall {
  const LlmRequest& request;
  std::stop_token stop;                   // cancelled: return soon, with kCancelled
  absl::Time deadline;
  std::function<void(std::string_view delta)> on_text;  // streaming, on the calling thread; may be empty
};

// Talks to one model service.
// Thread-safe; blocks. kUnauthenticated / kPermissionDenied for a bad key, kInvalidArgument for a request that it refuses, kResourceExhausted
// for a rate limit or an empty account, kUnavailable for a service that is down or a stream that broke off (a reply without its
// positive end is never returned as one), kDeadlineExceeded, kCancelled. Secrets never appear in a message.
class LlmClient {
 public:
  virtual ~LlmClient() = default;
  virtual absl::StatusOr<LlmReply> Generate(const LlmCall& call) = 0;
};

// Is told about calls, for logs and metrics. Called from the threads that call: thread-safe.
class LlmObserver {
 public:
  virtual ~LlmObserver() = default;
  virtual void OnRequest(const LlmRequest& request) { (void)request; }
  // An attempt failed and another follows after `pause`.
  virtual void OnRetry(const LlmRequest& request, const absl::Status& failure, absl::Duration pause) {
    (void)request, (void)failure, (void)pause;
  }
  virtual void OnReply(const LlmRequest& request, const absl::StatusOr<LlmReply>& reply, absl::Duration duration) {
    (void)request, (void)reply, (void)duration;
  }
};

}  // namespace maxkernel

#endif  // MAXKERNEL_LLM_LLM_CLIENT_H_
