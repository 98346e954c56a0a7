#ifndef MAXKERNEL_LIB_SEARCH_WORKER_POOL_H_
#define MAXKERNEL_LIB_SEARCH_WORKER_POOL_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "maxkernel/internal/mutex.h"

namespace maxkernel {

// A fixed number of threads that run jobs in the order in which they came. Jobs do not throw: whoever submits one puts the boundary to
// user code inside it. The destructor runs what was submitted and waits for it.
// Thread-safe.
class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Submit(std::function<void()> job);

 private:
  void Work();

  internal::Mutex mutex_;
  internal::ConditionVariable changed_;
  std::deque<std::function<void()>> jobs_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_SEARCH_WORKER_POOL_H_
