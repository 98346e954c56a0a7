#ifndef MAXKERNEL_CLOCK_H_
#define MAXKERNEL_CLOCK_H_

#include <memory>

#include "absl/time/time.h"

namespace maxkernel {

// The time as the engine sees it, so that tests can run on a virtual clock.
// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Wall-clock time. May jump when the system's clock is set.
  virtual absl::Time Now() = 0;
};

// The system's clock.
std::unique_ptr<Clock> MakeSystemClock();

}  // namespace maxkernel

#endif  // MAXKERNEL_CLOCK_H_
