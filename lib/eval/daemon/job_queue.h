#ifndef MAXKERNEL_LIB_EVAL_DAEMON_JOB_QUEUE_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_JOB_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/eval/daemon/runner_result.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/evaluation.h"
#include "maxkernel/internal/mutex.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::eval {

struct JobEvent {
  enum class Kind : std::uint8_t { kQueued, kStarted, kProgress, kStageFinished };
  Kind kind = Kind::kStarted;
  std::uint32_t position = 0;            // for kQueued, from 1
  Stage stage = Stage::kValidate;        // for kProgress
  RunnerProgress progress;               // likewise
  std::optional<StageReport> report;     // for kStageFinished
};

using JobAnswer = std::variant<Evaluation, AdmissionReport>;

class Job;

// One stream's view of a job: an event at a time, then the answer.
// Thread-safe.
class JobWatch {
 public:
  JobWatch(std::shared_ptr<Job> job, bool joined, std::function<void()> on_change);

  // The next event that this watch has not seen; nullopt if there is none at the moment.
  std::optional<JobEvent> Next();
  // Set once the job has ended and all its events have been seen.
  std::optional<absl::StatusOr<JobAnswer>> Answer() const;
  // Whether the job was there before.
  bool joined() const { return joined_; }
  // No call of on_change is running or will start once this has returned. Not from within on_change.
  void Silence();

 private:
  friend class JobQueue;
  void Notify();

  const std::shared_ptr<Job> job_;
  const bool joined_;
  std::size_t seen_ = 0;  // guarded by the job's mutex
  internal::Mutex callback_mutex_;
  std::function<void()> on_change_ ABSL_GUARDED_BY(callback_mutex_);
};

struct JobOrder {
  using Emit = std::function<void(JobEvent)>;
  using Work = std::function<absl::StatusOr<JobAnswer>(std::stop_token, const Emit&)>;

  std::string key;
  std::string fingerprint;  // of what is asked for under the key
  absl::Duration linger = absl::ZeroDuration();  // how long it goes on unwatched
  Work work;
};

struct JobQueueOptions {
  std::uint32_t slots = 1;        // jobs at once
  std::uint32_t waiting_limit = 64;
};

// A bounded first-in-first-out queue of jobs, each known by its key: whoever asks for a key that is there already joins its job. A job
// that nobody watches any more is cancelled, at once or after its linger time.
// Thread-safe.
class JobQueue {
 public:
  explicit JobQueue(const JobQueueOptions& options);
  // As Shutdown without patience.
  ~JobQueue();

  // `on_change` says, from any thread, that the watch has something new. ResourceExhausted: the queue is full. InvalidArgument: the
  // key is in use for something else. Unavailable: shutting down.
  absl::StatusOr<std::shared_ptr<JobWatch>> Submit(JobOrder order, std::function<void()> on_change);
  // A watch whose job has ended already.
  static std::shared_ptr<JobWatch> Answered(JobAnswer answer);
  // The watcher has gone.
  void Leave(const std::shared_ptr<JobWatch>& watch);
  // The job under this key does not linger: it ends as soon as nobody watches it.
  void Cancel(std::string_view key);

  // Waiting jobs end with Unavailable, running ones are given `patience`, then cancelled. Returns once all have ended.
  void Shutdown(absl::Duration patience);

  std::uint32_t running() const;
  std::uint32_t waiting() const;

 private:
  void Serve();
  void SweepUnwatched();
  void Execute(const std::shared_ptr<Job>& job);
  void End(const std::shared_ptr<Job>& job, absl::StatusOr<JobAnswer> answer);
  void Emit(const std::shared_ptr<Job>& job, JobEvent event);
  void TellPositions();
  void Forget(const std::shared_ptr<Job>& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CancelIfUnwatched(const std::shared_ptr<Job>& job, bool at_once);

  const JobQueueOptions options_;
  mutable internal::Mutex mutex_;
  internal::ConditionVariable changed_;
  internal::StringMap<std::shared_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Job>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::uint32_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
  std::thread sweeper_;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_JOB_QUEUE_H_
