#include "maxkernel/llm/llm_client.h"

namespace maxkernel {

std::string_view ToString(StopReason reason) {
  switch (reason) {
    case StopReason::kEnd: return "end";
    case StopReason::kLength: return "length";
    case StopReason::kRefusal: return "refusal";
    case StopReason::kOther: return "other";
  }
  return "other";
}

}  // namespace maxkernel
