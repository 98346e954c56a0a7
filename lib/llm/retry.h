#ifndef MAXKERNEL_LIB_LLM_RETRY_H_
#define MAXKERNEL_LIB_LLM_RETRY_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "lib/llm/decorator.h"
#include "lib/llm/waiter.h"
#include "maxkernel/clock.h"
#include "maxkernel/random.h"

namespace maxkernel::llm {

struct RetryOptions {
  std::uint32_t retries = 4;
  absl::Duration base = absl::Milliseconds(500);  // the n-th pause is drawn from [0, base * 2^n), but at most cap
  absl::Duration cap = absl::Seconds(30);
};

// Asks again when a service is down, overloaded or breaks off. A pause that the service asks for is kept at least. The
// tokens that failed attempts are likely to be billed for are added to the reply's usage, which then counts as estimated.
class RetryDecorator : public Decorator {
 public:
  // `observer` may be null; clock, waiter and observer outlive the decorator.
  RetryDecorator(std::unique_ptr<LlmClient> inner, RetryOptions options, Clock& clock, Waiter& waiter, LlmObserver* observer)
      : Decorator(std::move(inner)), options_(options), clock_(clock), waiter_(waiter), observer_(observer) {}

  std::string_view name() const override { return "retry"; }
  absl::StatusOr<LlmReply> Generate(const LlmCall& call) override;

 private:
  absl::Duration Backoff(std::uint32_t attempt, KeyedRandom& jitter) const;

  const RetryOptions options_;
  Clock& clock_;
  Waiter& waiter_;
  LlmObserver* const observer_;
  std::atomic<std::uint64_t> calls_{0};  // keys the jitter, so that equal requests do not come back in step
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_RETRY_H_
