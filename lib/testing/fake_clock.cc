#include "maxkernel/testing/fake_clock.h"

#include <algorithm>

namespace maxkernel {

absl::Time FakeClock::Now() {
  internal::MutexLock lock(mutex_);
  return now_;
}

void FakeClock::Advance(absl::Duration time) {
  internal::MutexLock lock(mutex_);
  now_ += time;
  while (!sleepers_.empty() && sleepers_.begin()->wake <= now_) WakeFirst();
}

void FakeClock::WakeFirst() {
  *sleepers_.begin()->awake = true;
  sleepers_.erase(sleepers_.begin());
  changed_.NotifyAll();
}

void FakeClock::Wait(WakeSignal& signal, absl::Time until, std::size_t busy) {
  if (signal.WaitFor(absl::ZeroDuration())) return;
  {
    internal::MutexLock lock(mutex_);
    if (sleepers_.size() >= busy) {
      const absl::Time next = sleepers_.empty() ? absl::InfiniteFuture() : sleepers_.begin()->wake;
      if (until != absl::InfiniteFuture() && until <= next) {
        now_ = std::max(now_, until);
        return;
      }
      if (!sleepers_.empty()) {
        now_ = std::max(now_, next);
        WakeFirst();
      }
    }
    waiting_ = &signal;
  }
  signal.WaitFor(absl::InfiniteDuration());
  internal::MutexLock lock(mutex_);
  waiting_ = nullptr;
}

absl::Status FakeClock::SleepFor(absl::Duration time, std::uint64_t order, const std::stop_token& stop) {
  bool awake = false;
  const std::stop_callback wake_up(stop, [this] {
    internal::MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  internal::MutexLock lock(mutex_);
  const Sleeper self{now_ + time, order, &awake};
  sleepers_.insert(self);
  if (waiting_ != nullptr) waiting_->Notify();
  changed_.Wait(mutex_, [&] { return awake || stop.stop_requested(); });
  sleepers_.erase(self);
  return awake ? absl::OkStatus() : absl::CancelledError("cancelled while asleep");
}

}  // namespace maxkernel
