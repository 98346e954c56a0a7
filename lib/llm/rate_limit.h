#ifndef MAXKERNEL_LIB_LLM_RATE_LIMIT_H_
#define MAXKERNEL_LIB_LLM_RATE_LIMIT_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "lib/llm/decorator.h"
#include "lib/llm/waiter.h"
#include "maxkernel/clock.h"
#include "maxkernel/internal/mutex.h"

namespace maxkernel::llm {

// Keeps a rate of requests per minute: a token bucket that holds what five seconds bring, and at least one token.
// Requests pass in the order in which they came.
class RateLimitDecorator : public Decorator {
 public:
  // requests_per_minute > 0. Clock and waiter outlive the decorator.
  RateLimitDecorator(std::unique_ptr<LlmClient> inner, std::uint32_t requests_per_minute, Clock& clock, Waiter& waiter);

  std::string_view name() const override { return "rate limit"; }
  absl::StatusOr<LlmReply> Generate(const LlmCall& call) override;

 private:
  // Takes a token; the time until it is there.
  absl::Duration Take();
  // Returns the token of a request that did not wait for it.
  void GiveBack();

  const absl::Duration interval_;  // between tokens
  const std::int64_t capacity_;
  Clock& clock_;
  Waiter& waiter_;
  internal::Mutex mutex_;
  absl::Time last_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  double tokens_ ABSL_GUARDED_BY(mutex_);  // negative: promised to those who wait
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_RATE_LIMIT_H_
