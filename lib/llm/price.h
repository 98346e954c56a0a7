#ifndef MAXKERNEL_LIB_LLM_PRICE_H_
#define MAXKERNEL_LIB_LLM_PRICE_H_

#include <cstdint>
#include <memory>

#include "lib/llm/decorator.h"
#include "maxkernel/llm/llm_factory.h"

namespace maxkernel::llm {

// What this usage costs, in microdollars, rounded up.
std::int64_t PriceOf(const LlmUsage& usage, const ModelPrice& price);

// Puts a price on every reply.
class PriceDecorator : public Decorator {
 public:
  PriceDecorator(std::unique_ptr<LlmClient> inner, ModelPrice price) : Decorator(std::move(inner)), price_(price) {}

  std::string_view name() const override { return "price"; }
  absl::StatusOr<LlmReply> Generate(const LlmCall& call) override {
    absl::StatusOr<LlmReply> reply = inner().Generate(call);
    if (reply.ok()) reply->microdollars = PriceOf(reply->usage, price_);
    return reply;
  }

 private:
  const ModelPrice price_;
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_PRICE_H_
