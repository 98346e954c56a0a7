#include "lib/llm/rate_limit.h"

#include <algorithm>
#include <utility>

namespace maxkernel::llm {

RateLimitDecorator::RateLimitDecorator(std::unique_ptr<LlmClient> inner, std::uint32_t requests_per_minute, Clock& clock,
                                       Waiter& waiter)
    : Decorator(std::move(inner)),
      interval_(absl::Minutes(1) / requests_per_minute),
      capacity_(std::max<std::int64_t>(1, requests_per_minute / 12)),
      clock_(clock),
      waiter_(waiter),
      tokens_(static_cast<double>(capacity_)) {}

absl::StatusOr<LlmReply> RateLimitDecorator::Generate(const LlmCall& call) {
  const absl::Duration wait = Take();
  if (wait > absl::ZeroDuration()) {
    if (clock_.Now() + wait >= call.deadline) {
      GiveBack();
      return absl::DeadlineExceededError("the rate limit lets this request pass only after its deadline");
    }
    if (!waiter_.Wait(wait, call.stop)) {
      GiveBack();
      return absl::CancelledError("cancelled while it waited for the rate limit");
    }
  }
  return inner().Generate(call);
}

absl::Duration RateLimitDecorator::Take() {
  internal::MutexLock lock(mutex_);
  const absl::Time now = clock_.Now();
  // A clock that was set back brings no tokens, and owes none.
  const absl::Duration passed = last_ == absl::InfinitePast() ? absl::ZeroDuration() : std::max(now - last_, absl::ZeroDuration());
  tokens_ = std::min(static_cast<double>(capacity_), tokens_ + absl::FDivDuration(passed, interval_)) - 1;
  last_ = now;
  return tokens_ >= 0 ? absl::ZeroDuration() : -tokens_ * interval_;
}

void RateLimitDecorator::GiveBack() {
  internal::MutexLock lock(mutex_);
  tokens_ = std::min(static_cast<double>(capacity_), tokens_ + 1);
}

}  // namespace maxkernel::llm
