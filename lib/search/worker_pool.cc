#include "lib/search/worker_pool.h"

#include <utility>

namespace maxkernel {

WorkerPool::WorkerPool(std::size_t threads) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() {
  {
    internal::MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Submit(std::function<void()> job) {
  internal::MutexLock lock(mutex_);
  jobs_.push_back(std::move(job));
  changed_.NotifyOne();
}

void WorkerPool::Work() {
  while (true) {
    std::function<void()> job;
    {
      internal::MutexLock lock(mutex_);
      changed_.Wait(mutex_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return closed_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace maxkernel
