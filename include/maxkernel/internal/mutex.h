// Not part of the API. std::mutex with thread-safety annotations: Debian's absl::Mutex is not instrumented, so ThreadSanitizer
// reports every use of it.
#ifndef MAXKERNEL_INTERNAL_MUTEX_H_
#define MAXKERNEL_INTERNAL_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace maxkernel::internal {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// The caller of every Wait holds the mutex.
class ConditionVariable {
 public:
  template <typename Predicate>
  void Wait(Mutex& mutex, Predicate predicate) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock, predicate);
    lock.release();
  }
  // Returns the predicate's last value.
  template <typename Predicate>
  bool WaitFor(Mutex& mutex, absl::Duration timeout, Predicate predicate) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (timeout >= absl::Hours(24 * 365)) {
      Wait(mutex, predicate);
      return true;
    }
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool satisfied = condition_.wait_for(lock, absl::ToChronoNanoseconds(timeout), predicate);
    lock.release();
    return satisfied;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace maxkernel::internal

#endif  // MAXKERNEL_INTERNAL_MUTEX_H_
