#include "lib/llm/price.h"

#include <algorithm>
#include <limits>

namespace maxkernel::llm {

std::int64_t PriceOf(const LlmUsage& usage, const ModelPrice& price) {
  __extension__ using Wide = unsigned __int128;  // tokens times price may pass 2^63
  const std::int64_t cached = std::clamp<std::int64_t>(usage.cached_input_tokens, 0, std::max<std::int64_t>(usage.input_tokens, 0));
  const auto product = [](std::int64_t tokens, std::int64_t per_million) {
    return static_cast<Wide>(std::max<std::int64_t>(tokens, 0)) * static_cast<Wide>(std::max<std::int64_t>(per_million, 0));
  };
  const Wide total = product(usage.input_tokens - cached, price.input) + product(cached, price.cached_input) +
                     product(usage.output_tokens, price.output);
  constexpr Wide kTokensPerPrice = 1'000'000;
  const Wide rounded = (total + kTokensPerPrice - 1) / kTokensPerPrice;
  return static_cast<std::int64_t>(std::min<Wide>(rounded, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace maxkernel::llm
