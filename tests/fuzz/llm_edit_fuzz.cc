// A model's reply, applied to a candidate: whatever it says, the result is a changed candidate or failures, never both.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "maxkernel/internal/check.h"
#include "maxkernel/llm/edit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace maxkernel;
  static const Candidate parent = *Candidate::Create(
      {{"kernel.py", "import jax\n\nBLOCK = 8\n\ndef computation(x):\n    y = x * 2\n    return y\n"}, {"common.py", "VALUE = 1\r\nOTHER = 2\r\n"}});
  const EditResult result = ApplyReply(parent, {reinterpret_cast<const char*>(data), size});
  MAXKERNEL_CHECK((result.candidate == nullptr) == !result.failures.empty());
  if (result.candidate != nullptr) {
    MAXKERNEL_CHECK(result.candidate->content_hash() != parent.content_hash());
    MAXKERNEL_CHECK(result.candidate->files().size() == parent.files().size());
  } else {
    MAXKERNEL_CHECK(!DescribeFailures(parent, result).empty());
  }
  return 0;
}
