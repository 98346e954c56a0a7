#ifndef MAXKERNEL_LIB_SEARCH_MAILBOX_H_
#define MAXKERNEL_LIB_SEARCH_MAILBOX_H_

#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/clock.h"
#include "maxkernel/evaluation.h"
#include "maxkernel/event.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/internal/mutex.h"

namespace maxkernel {

// What a worker hands back.
struct FinishedWork {
  WorkId work{};
  std::variant<absl::StatusOr<ProposeResult>, absl::StatusOr<Evaluation>> result;
  absl::Time end;
};

// Everything that reaches the coordinator from other threads: finished work, and what people ask for, as the event body that it becomes.
// Thread-safe.
class Mailbox {
 public:
  void Post(FinishedWork finished) {
    {
      internal::MutexLock lock(mutex_);
      finished_.push_back(std::move(finished));
    }
    signal_.Notify();
  }

  void Post(EventBody request) {
    {
      internal::MutexLock lock(mutex_);
      requests_.push_back(std::move(request));
    }
    signal_.Notify();
  }

  std::vector<FinishedWork> TakeFinished() {
    internal::MutexLock lock(mutex_);
    return std::exchange(finished_, {});
  }

  std::vector<EventBody> TakeRequests() {
    internal::MutexLock lock(mutex_);
    return std::exchange(requests_, {});
  }

  WakeSignal& signal() { return signal_; }

 private:
  internal::Mutex mutex_;
  std::vector<FinishedWork> finished_ ABSL_GUARDED_BY(mutex_);
  std::vector<EventBody> requests_ ABSL_GUARDED_BY(mutex_);
  WakeSignal signal_;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_SEARCH_MAILBOX_H_
