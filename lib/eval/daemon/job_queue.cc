#include "lib/eval/daemon/job_queue.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "absl/strings/str_cat.h"

namespace maxkernel::eval {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// A late joiner gets all events, so progress beyond this is not kept.
constexpr std::size_t kEventsLimit = 2000;
constexpr absl::Duration kSweepInterval = absl::Milliseconds(100);

}  // namespace

class Job {
 public:
  explicit Job(JobOrder the_order) : order(std::move(the_order)) {}

  const JobOrder order;
  std::stop_source stop;
  internal::Mutex mutex;
  std::vector<JobEvent> events ABSL_GUARDED_BY(mutex);
  std::optional<absl::StatusOr<JobAnswer>> answer ABSL_GUARDED_BY(mutex);
  std::vector<std::shared_ptr<JobWatch>> watches ABSL_GUARDED_BY(mutex);
  absl::Duration linger ABSL_GUARDED_BY(mutex) = order.linger;
  std::optional<SteadyTime> unwatched_since ABSL_GUARDED_BY(mutex);
  std::uint32_t told_position ABSL_GUARDED_BY(mutex) = 0;

  std::vector<std::shared_ptr<JobWatch>> Watches() {
    internal::MutexLock lock(mutex);
    return watches;
  }
};

JobWatch::JobWatch(std::shared_ptr<Job> job, bool joined, std::function<void()> on_change)
    : job_(std::move(job)), joined_(joined), on_change_(std::move(on_change)) {}

std::optional<JobEvent> JobWatch::Next() {
  internal::MutexLock lock(job_->mutex);
  if (seen_ == job_->events.size()) return std::nullopt;
  return job_->events[seen_++];
}

std::optional<absl::StatusOr<JobAnswer>> JobWatch::Answer() const {
  internal::MutexLock lock(job_->mutex);
  if (seen_ < job_->events.size()) return std::nullopt;
  return job_->answer;
}

void JobWatch::Silence() {
  internal::MutexLock lock(callback_mutex_);
  on_change_ = nullptr;
}

void JobWatch::Notify() {
  internal::MutexLock lock(callback_mutex_);
  if (on_change_) on_change_();
}

JobQueue::JobQueue(const JobQueueOptions& options) : options_(options) {
  for (std::uint32_t i = 0; i < options_.slots; ++i) workers_.emplace_back([this] { Serve(); });
  sweeper_ = std::thread([this] { SweepUnwatched(); });
}

JobQueue::~JobQueue() { Shutdown(absl::ZeroDuration()); }

std::shared_ptr<JobWatch> JobQueue::Answered(JobAnswer answer) {
  auto job = std::make_shared<Job>(JobOrder{});
  {
    internal::MutexLock lock(job->mutex);
    job->answer = std::move(answer);
  }
  return std::make_shared<JobWatch>(std::move(job), /*joined=*/true, nullptr);
}

absl::StatusOr<std::shared_ptr<JobWatch>> JobQueue::Submit(JobOrder order, std::function<void()> on_change) {
  std::shared_ptr<JobWatch> watch;
  const absl::Duration linger = order.linger;
  {
    internal::MutexLock lock(mutex_);
    if (stopping_) return absl::UnavailableError("the daemon is shutting down");
    const auto found = jobs_.find(order.key);
    std::shared_ptr<Job> job = found == jobs_.end() ? nullptr : found->second;
    if (job != nullptr && job->order.fingerprint != order.fingerprint) {
      return absl::InvalidArgumentError(absl::StrCat("idempotency key '", order.key, "': in use for another request"));
    }
    const bool joined = job != nullptr;
    if (!joined) {
      const std::uint32_t idle = options_.slots - running_;
      if (waiting_.size() >= options_.waiting_limit + idle) {
        return absl::ResourceExhaustedError(absl::StrCat("the queue is full: ", running_, " evaluations run and ", waiting_.size(),
                                                         " wait; try again later"));
      }
      const std::string key = order.key;
      job = std::make_shared<Job>(std::move(order));
      jobs_[key] = job;
      waiting_.push_back(job);
      changed_.NotifyAll();
    }
    watch = std::make_shared<JobWatch>(job, joined, std::move(on_change));
    internal::MutexLock job_lock(job->mutex);
    job->watches.push_back(watch);
    job->unwatched_since.reset();
    job->linger = std::max(job->linger, linger);
  }
  TellPositions();
  watch->Notify();
  return watch;
}

void JobQueue::Leave(const std::shared_ptr<JobWatch>& watch) {
  const std::shared_ptr<Job> job = watch->job_;
  {
    internal::MutexLock lock(job->mutex);
    job->watches.erase(std::remove(job->watches.begin(), job->watches.end(), watch), job->watches.end());
    if (job->watches.empty() && !job->unwatched_since.has_value()) job->unwatched_since = std::chrono::steady_clock::now();
  }
  CancelIfUnwatched(job, /*at_once=*/false);
}

void JobQueue::Cancel(std::string_view key) {
  std::shared_ptr<Job> job;
  {
    internal::MutexLock lock(mutex_);
    const auto found = jobs_.find(key);
    if (found == jobs_.end()) return;
    job = found->second;
  }
  CancelIfUnwatched(job, /*at_once=*/true);
}

void JobQueue::CancelIfUnwatched(const std::shared_ptr<Job>& job, bool at_once) {
  bool was_waiting = false;
  {
    internal::MutexLock lock(mutex_);
    internal::MutexLock job_lock(job->mutex);
    if (at_once) job->linger = absl::ZeroDuration();
    if (!job->watches.empty() || job->answer.has_value()) return;
    const absl::Duration unwatched = absl::FromChrono(std::chrono::steady_clock::now() - *job->unwatched_since);
    if (unwatched < job->linger) return;
    // Whoever asks for the key from now on gets a new job, not one that is about to end.
    Forget(job);
    const auto place = std::find(waiting_.begin(), waiting_.end(), job);
    was_waiting = place != waiting_.end();
    if (was_waiting) waiting_.erase(place);
  }
  // Not under a lock: this runs other people's callbacks.
  job->stop.request_stop();
  if (was_waiting) {
    End(job, absl::CancelledError("cancelled: nobody watches it"));
    TellPositions();
  }
}

void JobQueue::Forget(const std::shared_ptr<Job>& job) {
  const auto found = jobs_.find(job->order.key);
  if (found != jobs_.end() && found->second == job) jobs_.erase(found);
}

void JobQueue::SweepUnwatched() {
  while (true) {
    std::vector<std::shared_ptr<Job>> unwatched;
    {
      internal::MutexLock lock(mutex_);
      changed_.WaitFor(mutex_, kSweepInterval, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopped_; });
      if (stopped_) return;
      for (const auto& [key, job] : jobs_) {
        internal::MutexLock job_lock(job->mutex);
        if (job->watches.empty() && !job->answer.has_value() && !job->stop.stop_requested()) unwatched.push_back(job);
      }
    }
    for (const std::shared_ptr<Job>& job : unwatched) CancelIfUnwatched(job, /*at_once=*/false);
  }
}

void JobQueue::TellPositions() {
  std::vector<std::shared_ptr<JobWatch>> to_notify;
  {
    internal::MutexLock lock(mutex_);
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const std::shared_ptr<Job>& job = waiting_[i];
      internal::MutexLock job_lock(job->mutex);
      const auto position = static_cast<std::uint32_t>(i + 1);
      if (job->told_position == position || job->events.size() >= kEventsLimit) continue;
      job->told_position = position;
      JobEvent event;
      event.kind = JobEvent::Kind::kQueued;
      event.position = position;
      job->events.push_back(std::move(event));
      to_notify.insert(to_notify.end(), job->watches.begin(), job->watches.end());
    }
  }
  for (const std::shared_ptr<JobWatch>& watch : to_notify) watch->Notify();
}

void JobQueue::Serve() {
  while (true) {
    std::shared_ptr<Job> job;
    {
      internal::MutexLock lock(mutex_);
      changed_.Wait(mutex_, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
      ++running_;
    }
    TellPositions();
    Execute(job);
  }
}

void JobQueue::Execute(const std::shared_ptr<Job>& job) {
  JobEvent started;
  started.kind = JobEvent::Kind::kStarted;
  Emit(job, std::move(started));
  absl::StatusOr<JobAnswer> answer = absl::UnknownError("");
  try {
    answer = job->order.work(job->stop.get_token(), [&](JobEvent event) { Emit(job, std::move(event)); });
  } catch (const std::exception& error) {
    answer = absl::InternalError(absl::StrCat("the daemon failed: ", error.what()));
  }
  {
    internal::MutexLock lock(mutex_);
    --running_;
  }
  End(job, std::move(answer));
}

void JobQueue::Emit(const std::shared_ptr<Job>& job, JobEvent event) {
  {
    internal::MutexLock lock(job->mutex);
    if (event.kind == JobEvent::Kind::kProgress && job->events.size() >= kEventsLimit) return;
    job->events.push_back(std::move(event));
  }
  for (const std::shared_ptr<JobWatch>& watch : job->Watches()) watch->Notify();
}

void JobQueue::End(const std::shared_ptr<Job>& job, absl::StatusOr<JobAnswer> answer) {
  {
    internal::MutexLock lock(mutex_);
    Forget(job);
    internal::MutexLock job_lock(job->mutex);
    job->answer = std::move(answer);
    changed_.NotifyAll();
  }
  for (const std::shared_ptr<JobWatch>& watch : job->Watches()) watch->Notify();
}

void JobQueue::Shutdown(absl::Duration patience) {
  std::deque<std::shared_ptr<Job>> turned_away;
  {
    internal::MutexLock lock(mutex_);
    if (stopped_) return;
    stopping_ = true;
    turned_away.swap(waiting_);
    changed_.NotifyAll();
  }
  for (const std::shared_ptr<Job>& job : turned_away) End(job, absl::UnavailableError("the daemon is shutting down"));
  std::vector<std::shared_ptr<Job>> to_cancel;
  {
    internal::MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, patience, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return jobs_.empty(); });
    for (const auto& [key, job] : jobs_) to_cancel.push_back(job);
  }
  for (const std::shared_ptr<Job>& job : to_cancel) job->stop.request_stop();
  for (std::thread& worker : workers_) worker.join();
  {
    internal::MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  sweeper_.join();
}

std::uint32_t JobQueue::running() const {
  internal::MutexLock lock(mutex_);
  return running_;
}

std::uint32_t JobQueue::waiting() const {
  internal::MutexLock lock(mutex_);
  return static_cast<std::uint32_t>(waiting_.size());
}

}  // namespace maxkernel::eval
