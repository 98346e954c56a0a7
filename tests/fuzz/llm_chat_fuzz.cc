// A chat completion's chunks: any JSON, or none, ends in a reply or an error.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/llm/call_failure.h"
#include "lib/llm/chat_protocol.h"
#include "lib/llm/request_key.h"
#include "maxkernel/internal/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace maxkernel;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const LlmRequest request{.model = "m", .messages = {{LlmMessage::Role::kUser, "x"}}};
  llm::ChatStream stream(request, [](std::string_view delta) { MAXKERNEL_CHECK(!delta.empty()); }, "");
  for (std::size_t at = 0; at < bytes.size();) {  // one line is one event
    const std::size_t end = bytes.find('\n', at);
    const std::string_view line = bytes.substr(at, end - at);
    stream.TakeEvent({.name = "", .data = std::string(line)});
    at = end == std::string_view::npos ? bytes.size() : end + 1;
  }
  const absl::StatusOr<LlmReply> reply = stream.Finish();
  MAXKERNEL_CHECK(!reply.ok() || stream.complete());
  const LlmUsage usage = stream.Usage();
  MAXKERNEL_CHECK(usage.input_tokens >= 0 && usage.output_tokens >= 0 && usage.cached_input_tokens >= 0);
  if (reply.ok()) MAXKERNEL_CHECK(llm::ParseReplyJson(llm::ReplyJson(*reply)).ok());

  const llm::HttpHeader header{.status = 400 + static_cast<int>(size % 200)};
  MAXKERNEL_CHECK(!llm::FailureFromResponse(header, bytes, "secret", absl::UnixEpoch()).ok());
  MAXKERNEL_CHECK(!llm::FailureFromErrorJson(bytes, "secret").ok());
  (void)llm::WithoutRefusedParameter(request, {}, bytes);
  (void)llm::ParseReplyJson(bytes);
  return 0;
}
