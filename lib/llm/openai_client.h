#ifndef MAXKERNEL_LIB_LLM_OPENAI_CLIENT_H_
#define MAXKERNEL_LIB_LLM_OPENAI_CLIENT_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/llm/chat_protocol.h"
#include "lib/llm/http_transport.h"
#include "maxkernel/clock.h"
#include "maxkernel/internal/mutex.h"
#include "maxkernel/llm/llm_client.h"

namespace maxkernel::llm {

struct OpenAiClientOptions {
  std::string base_url;                              // without a slash at its end
  std::string api_key;                               // empty: none is sent
  absl::Duration idle_timeout = absl::Seconds(120);  // without a byte, once the answer has begun
  std::size_t maximum_answer = 64 << 20;             // bytes on the wire
};

// Any service that speaks Chat Completions. One call is one attempt, apart from repetitions without a parameter that the service refuses
// by name. Time limits: connecting 10 s; the first byte three idle_timeouts, since models may think before they speak; a
// byte each idle_timeout from then on; an event each five, since comments that keep a connection open are not an answer.
// Thread-safe.
class OpenAiClient : public LlmClient {
 public:
  // The clock outlives the client.
  static absl::StatusOr<std::unique_ptr<OpenAiClient>> Create(OpenAiClientOptions options, Clock& clock);

  absl::StatusOr<LlmReply> Generate(const LlmCall& call) override;

 private:
  struct Answer;

  OpenAiClient(OpenAiClientOptions options, Clock& clock, std::unique_ptr<HttpTransport> transport);

  HttpPost MakePost(std::string body) const;
  Answer Attempt(const LlmCall& call, const ChatDialect& dialect);
  ChatDialect DialectOf(const std::string& model);
  void Remember(const std::string& model, const ChatDialect& dialect);

  const OpenAiClientOptions options_;
  Clock& clock_;
  const std::unique_ptr<HttpTransport> transport_;
  internal::Mutex mutex_;
  std::map<std::string, ChatDialect> dialects_ ABSL_GUARDED_BY(mutex_);  // by model
};

// Whether a URL's host is this machine, by name or literal address.
bool IsLoopbackUrl(std::string_view url);
// "api.example.com" of "https://user@api.example.com:443/v1".
std::string_view HostOf(std::string_view url);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_OPENAI_CLIENT_H_
