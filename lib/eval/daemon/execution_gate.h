#ifndef MAXKERNEL_LIB_EVAL_DAEMON_EXECUTION_GATE_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_EXECUTION_GATE_H_

#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include "maxkernel/internal/mutex.h"

namespace maxkernel::eval {

// Lets many processes run side by side, or one alone: a process whose time counts holds the host exclusively. Whoever waits to be
// alone goes before those who come later, so that it is not kept waiting for ever.
// Thread-safe.
class ExecutionGate {
 public:
  enum class Use : std::uint8_t { kShared, kExclusive };

  // Held while it lives.
  class Lease {
   public:
    Lease(ExecutionGate* gate, Use use) : gate_(gate), use_(use) {}
    Lease(Lease&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)), use_(other.use_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();

   private:
    ExecutionGate* gate_;
    Use use_;
  };

  // Blocks; nullopt once `stop` is requested.
  std::optional<Lease> Acquire(Use use, std::stop_token stop);

 private:
  void Release(Use use);

  internal::Mutex mutex_;
  internal::ConditionVariable changed_;
  int shared_ ABSL_GUARDED_BY(mutex_) = 0;
  int waiting_for_exclusive_ ABSL_GUARDED_BY(mutex_) = 0;
  bool exclusive_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_EXECUTION_GATE_H_
