#ifndef MAXKERNEL_LIB_LLM_OBSERVE_H_
#define MAXKERNEL_LIB_LLM_OBSERVE_H_

#include <memory>

#include "lib/llm/decorator.h"
#include "maxkernel/clock.h"

namespace maxkernel::llm {

// Tells an observer about every call.
class ObserveDecorator : public Decorator {
 public:
  // Clock and observer outlive the decorator.
  ObserveDecorator(std::unique_ptr<LlmClient> inner, Clock& clock, LlmObserver& observer)
      : Decorator(std::move(inner)), clock_(clock), observer_(observer) {}

  std::string_view name() const override { return "observe"; }
  absl::StatusOr<LlmReply> Generate(const LlmCall& call) override {
    const absl::Time started = clock_.Now();
    observer_.OnRequest(call.request);
    absl::StatusOr<LlmReply> reply = inner().Generate(call);
    observer_.OnReply(call.request, reply, clock_.Now() - started);
    return reply;
  }

 private:
  Clock& clock_;
  LlmObserver& observer_;
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_OBSERVE_H_
