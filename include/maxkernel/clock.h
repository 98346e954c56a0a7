#ifndef MAXKERNEL_CLOCK_H_
#define MAXKERNEL_CLOCK_H_

#include <cstddef>
#include <memory>

#include "absl/time/time.h"
#include "maxkernel/internal/mutex.h"

namespace maxkernel {

// Wakes the one thread that waits on it. A notification that comes before the wait is kept.
// Thread-safe.
class WakeSignal {
 public:
  void Notify();
  // Consumes the notification and returns whether there was one.
  bool WaitFor(absl::Duration timeout);

 private:
  internal::Mutex mutex_;
  internal::ConditionVariable changed_;
  bool notified_ ABSL_GUARDED_BY(mutex_) = false;
};

// The time as the engine sees it, so that tests can run on a virtual clock.
// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Wall-clock time. May jump when the system's clock is set.
  virtual absl::Time Now() = 0;
  // Blocks until `signal` is notified or `until` has come; may return early. `busy` is the number of calls into user code that
  // have not ended: a virtual clock moves only when all of them wait on it. Here: waits in real time.
  virtual void Wait(WakeSignal& signal, absl::Time until, std::size_t busy);
};

// The system's clock.
std::unique_ptr<Clock> MakeSystemClock();

}  // namespace maxkernel

#endif  // MAXKERNEL_CLOCK_H_
