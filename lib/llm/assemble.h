#ifndef MAXKERNEL_LIB_LLM_ASSEMBLE_H_
#define MAXKERNEL_LIB_LLM_ASSEMBLE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/llm/waiter.h"
#include "maxkernel/llm/llm_factory.h"

namespace maxkernel::llm {

// MakeLlmClient with the waiter from outside; the options are valid. What is passed by reference outlives the client.
absl::StatusOr<std::unique_ptr<LlmClient>> AssembleStack(const LlmOptions& options, Clock& clock, Waiter& waiter,
                                                         LlmObserver* observer);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_ASSEMBLE_H_
