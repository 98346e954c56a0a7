// OpenAI's Chat Completions, as bytes: POST {base}/chat/completions.
#ifndef MAXKERNEL_LIB_LLM_CHAT_PROTOCOL_H_
#define MAXKERNEL_LIB_LLM_CHAT_PROTOCOL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/llm/sse_parser.h"
#include "maxkernel/llm/llm_client.h"

namespace maxkernel::llm {

// Which optional parameters an endpoint takes. Learned: a service that refuses one by name is asked again without it.
struct ChatDialect {
  enum class OutputLimit : std::uint8_t { kMaxTokens, kMaxCompletionTokens };
  OutputLimit output_limit = OutputLimit::kMaxTokens;
  bool temperature = true;
  bool seed = true;
  bool stream_options = true;

  bool operator==(const ChatDialect&) const = default;
};

std::string MakeChatBody(const LlmRequest& request, const ChatDialect& dialect);

// The dialect without the one optional parameter that the body of an HTTP 400 or 422 objects to; nullopt if it names none, or more
// than one, of those that were sent.
std::optional<ChatDialect> WithoutRefusedParameter(const LlmRequest& request, const ChatDialect& dialect, std::string_view error_body);

// Gathers one streamed answer.
// Order: TakeEvent for each event, then Finish. Thread-compatible.
class ChatStream {
 public:
  // `on_text` may be empty.
  ChatStream(const LlmRequest& request, std::function<void(std::string_view)> on_text, std::string secret);

  void TakeEvent(const SseEvent& event);
  // An answer in one JSON object, from a service that does not stream.
  void TakeWhole(std::string_view body);

  // The answer's positive end was seen: a choice with a finish reason. What may follow is usage and "[DONE]".
  bool complete() const { return finish_reason_.has_value(); }
  // Nothing of use can follow.
  bool done() const { return done_ || !fault_.ok(); }
  // Events so far; with the first one the service has begun to work, and to charge.
  std::size_t events() const { return events_; }
  bool started() const { return events_ > 0; }

  // kUnavailable for a stream that never reached its end, else the error that it carried.
  absl::StatusOr<LlmReply> Finish() const;
  // The provider's count, or our estimate if there is none.
  LlmUsage Usage() const;
  // Bytes of thinking, which is not part of the answer but paid for.
  std::size_t reasoning_bytes() const { return reasoning_bytes_; }

 private:
  const LlmRequest& request_;
  std::function<void(std::string_view)> on_text_;
  std::string secret_;
  std::string text_;
  std::string refusal_;
  std::string model_;
  std::optional<std::string> finish_reason_;
  std::optional<LlmUsage> usage_;
  std::size_t reasoning_bytes_ = 0;
  std::size_t events_ = 0;
  bool done_ = false;
  absl::Status fault_;
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_CHAT_PROTOCOL_H_
