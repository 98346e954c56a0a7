#include "maxkernel/clock.h"

#include "absl/time/clock.h"

namespace maxkernel {
namespace {

class SystemClock final : public Clock {
 public:
  absl::Time Now() override { return absl::Now(); }
};

}  // namespace

std::unique_ptr<Clock> MakeSystemClock() { return std::make_unique<SystemClock>(); }

}  // namespace maxkernel
