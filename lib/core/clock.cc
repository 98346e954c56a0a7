#include "maxkernel/clock.h"

#include <utility>

#include "absl/time/clock.h"

namespace maxkernel {
namespace {

class SystemClock final : public Clock {
 public:
  absl::Time Now() override { return absl::Now(); }
};

}  // namespace

void WakeSignal::Notify() {
  internal::MutexLock lock(mutex_);
  notified_ = true;
  changed_.NotifyOne();
}

bool WakeSignal::WaitFor(absl::Duration timeout) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  internal::MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, timeout, [this] { return notified_; });
  return std::exchange(notified_, false);
}

void Clock::Wait(WakeSignal& signal, absl::Time until, std::size_t /*busy*/) {
  const absl::Duration left = until - Now();
  if (left > absl::ZeroDuration()) signal.WaitFor(left);
}

std::unique_ptr<Clock> MakeSystemClock() { return std::make_unique<SystemClock>(); }

}  // namespace maxkernel
