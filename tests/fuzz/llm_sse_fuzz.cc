// The event stream's parser: any bytes, in any pieces, give the same events as in one piece.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/llm/sse_parser.h"
#include "maxkernel/internal/check.h"

namespace {

using maxkernel::llm::SseEvent;
using maxkernel::llm::SseParser;

std::vector<std::string> Parse(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> seen;
  SseParser parser([&](const SseEvent& event) {
    MAXKERNEL_CHECK(!event.data.empty());
    seen.push_back(event.name + "|" + event.data);
  });
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (!parser.Feed(bytes.substr(at, piece)).ok()) return seen;
  }
  if (const auto rest = parser.Finish(); rest.has_value()) seen.push_back("rest|" + rest->data);
  seen.push_back(parser.stray());
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 16;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  MAXKERNEL_CHECK(Parse(bytes, piece) == Parse(bytes, size));
  return 0;
}
