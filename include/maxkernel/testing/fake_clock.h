#ifndef MAXKERNEL_TESTING_FAKE_CLOCK_H_
#define MAXKERNEL_TESTING_FAKE_CLOCK_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "maxkernel/clock.h"
#include "maxkernel/internal/mutex.h"

namespace maxkernel {

// Virtual time. It stands still while anybody works and jumps to the next moment that somebody waits for once the engine and all of its
// calls into user code wait on this clock. Sleepers are woken one at a time, by time and then by `order`, so that a run whose
// proposer and evaluator do nothing but sleep here is the same to the last event, however threads are scheduled.
// Thread-safe; for one search at a time.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'700'000'000)) : now_(start) {}

  absl::Time Now() override;
  void Wait(WakeSignal& signal, absl::Time until, std::size_t busy) override;

  // For proposers and evaluators: blocks the worker for a virtual time. `order` decides between sleepers that wake at the same moment.
  // Cancelled if `stop` is requested.
  absl::Status SleepFor(absl::Duration time, std::uint64_t order, const std::stop_token& stop = {});

  // Wakes all whose time has come.
  void Advance(absl::Duration time);

 private:
  void WakeFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Sleeper {
    absl::Time wake;
    std::uint64_t order;
    bool* awake;
    bool operator<(const Sleeper& other) const {
      if (wake != other.wake) return wake < other.wake;
      if (order != other.order) return order < other.order;
      return awake < other.awake;
    }
  };

  internal::Mutex mutex_;
  internal::ConditionVariable changed_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
  std::set<Sleeper> sleepers_ ABSL_GUARDED_BY(mutex_);
  WakeSignal* waiting_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTING_FAKE_CLOCK_H_
