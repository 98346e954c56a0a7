// Requests and replies as JSON: what cassettes and reply logs hold.
#ifndef MAXKERNEL_LIB_LLM_REQUEST_KEY_H_
#define MAXKERNEL_LIB_LLM_REQUEST_KEY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "maxkernel/llm/llm_client.h"

namespace maxkernel::llm {

// One line: members in name order, line ends as line feeds. Nothing in it depends on where the request is sent.
std::string RequestJson(const LlmRequest& request);
// SHA-256 of RequestJson.
std::string RequestKey(const LlmRequest& request);
// 64 bits of it.
std::uint64_t RequestSeed(const LlmRequest& request);

std::string ReplyJson(const LlmReply& reply);
// DataLoss, naming the member, for anything that ReplyJson did not write.
absl::StatusOr<LlmReply> ParseReplyJson(std::string_view text);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_REQUEST_KEY_H_
