#ifndef MAXKERNEL_LIB_LLM_TOKEN_ESTIMATE_H_
#define MAXKERNEL_LIB_LLM_TOKEN_ESTIMATE_H_

#include <cstdint>
#include <vector>

#include "maxkernel/llm/llm_client.h"

namespace maxkernel::llm {

// Upper estimates without a tokenizer: source code takes 3.1 to 3.9 bytes a token in today's vocabularies, so bytes / 3 errs upwards.
inline std::int64_t EstimateTokens(std::size_t bytes) { return static_cast<std::int64_t>((bytes + 2) / 3); }

inline std::int64_t EstimateTokens(const std::vector<LlmMessage>& messages) {
  constexpr std::int64_t kTokensPerMessage = 10;  // role and separators
  std::int64_t tokens = 0;
  for (const LlmMessage& message : messages) tokens += kTokensPerMessage + EstimateTokens(message.text.size());
  return tokens;
}

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_TOKEN_ESTIMATE_H_
