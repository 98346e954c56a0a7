#include "lib/llm/waiter.h"

#include "maxkernel/internal/mutex.h"

namespace maxkernel::llm {
namespace {

class SystemWaiter : public Waiter {
 public:
  bool Wait(absl::Duration duration, const std::stop_token& stop) override {
    internal::Mutex mutex;
    internal::ConditionVariable stopped;
    const std::stop_callback wake(stop, [&] {
      internal::MutexLock lock(mutex);
      stopped.NotifyAll();
    });
    internal::MutexLock lock(mutex);
    return !stopped.WaitFor(mutex, duration, [&] { return stop.stop_requested(); });
  }
};

}  // namespace

std::unique_ptr<Waiter> MakeSystemWaiter() { return std::make_unique<SystemWaiter>(); }

}  // namespace maxkernel::llm
