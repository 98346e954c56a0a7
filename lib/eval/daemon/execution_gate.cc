#include "lib/eval/daemon/execution_gate.h"

namespace maxkernel::eval {

ExecutionGate::Lease::~Lease() {
  if (gate_ != nullptr) gate_->Release(use_);
}

std::optional<ExecutionGate::Lease> ExecutionGate::Acquire(Use use, std::stop_token stop) {
  std::stop_callback wake(stop, [this] {
    // Under the lock, so that no waiter is between its test and its sleep.
    internal::MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  internal::MutexLock lock(mutex_);
  if (use == Use::kShared) {
    changed_.Wait(mutex_, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return stop.stop_requested() || (!exclusive_ && waiting_for_exclusive_ == 0);
    });
    if (stop.stop_requested()) return std::nullopt;
    ++shared_;
  } else {
    ++waiting_for_exclusive_;
    changed_.Wait(mutex_, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stop.stop_requested() || (!exclusive_ && shared_ == 0); });
    --waiting_for_exclusive_;
    if (stop.stop_requested()) {
      changed_.NotifyAll();
      return std::nullopt;
    }
    exclusive_ = true;
  }
  return Lease(this, use);
}

void ExecutionGate::Release(Use use) {
  internal::MutexLock lock(mutex_);
  if (use == Use::kShared) {
    --shared_;
  } else {
    exclusive_ = false;
  }
  changed_.NotifyAll();
}

}  // namespace maxkernel::eval
