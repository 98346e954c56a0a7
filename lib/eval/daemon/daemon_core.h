#ifndef MAXKERNEL_LIB_EVAL_DAEMON_DAEMON_CORE_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_DAEMON_CORE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/eval/daemon/job_queue.h"
#include "lib/eval/daemon/log.h"
#include "lib/eval/daemon/pipeline.h"
#include "lib/eval/daemon/process_launcher.h"
#include "lib/eval/daemon/result_cache.h"
#include "lib/eval/daemon/sandbox.h"
#include "lib/eval/daemon/state_folder.h"
#include "maxkernel/eval/evaluation_daemon.h"
#include "maxkernel/eval/remote_evaluator.h"

namespace maxkernel::eval {

struct EvaluationOrder {
  std::string client;
  std::string key;
  absl::Duration linger = absl::ZeroDuration();
  EvaluationJob job;
};

struct AdmissionOrder {
  std::string client;
  std::string key;
  absl::Duration linger = absl::ZeroDuration();
  AdmissionJob job;
};

// The daemon without its transport: answers from the cache, or queues the work and lets the pipeline do it.
// Thread-safe.
class DaemonCore {
 public:
  // Errors as EvaluationDaemon::Start, but for the address.
  static absl::StatusOr<std::unique_ptr<DaemonCore>> Create(const DaemonOptions& options, Log& log);
  ~DaemonCore();

  const DaemonProbe& probe() const { return probe_; }
  const DaemonOptions& options() const { return options_; }

  // A watch on the work under the order's key; `on_change` as in JobQueue::Submit. Errors of the request and the queue.
  absl::StatusOr<std::shared_ptr<JobWatch>> Evaluate(EvaluationOrder order, std::function<void()> on_change);
  absl::StatusOr<std::shared_ptr<JobWatch>> Admit(AdmissionOrder order, std::function<void()> on_change);
  void Leave(const std::shared_ptr<JobWatch>& watch) { queue_->Leave(watch); }
  void Cancel(std::string_view key) { queue_->Cancel(key); }
  void Shutdown() { queue_->Shutdown(options_.drain_timeout); }

 private:
  explicit DaemonCore(const DaemonOptions& options, Log& log) : options_(options), log_(log) {}
  absl::Status Initialise();
  absl::Status ProbeRunner();
  absl::Status CheckFidelities(const EvaluationJob& job) const;
  absl::StatusOr<std::shared_ptr<JobWatch>> Submit(const std::string& client, const std::string& what, JobOrder order, std::string content,
                                                   std::function<void()> on_change);

  DaemonOptions options_;
  Log& log_;
  DaemonProbe probe_;
  std::optional<HardwareFile> hardware_;
  std::unique_ptr<StateFolder> state_;
  std::unique_ptr<ProcessLauncher> launcher_;
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<RoleRunner> runner_;
  std::unique_ptr<ReferenceStore> references_;
  std::unique_ptr<ResultCache> cache_;
  ExecutionGate gate_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<JobQueue> queue_;  // last: its threads use all of the above
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_DAEMON_CORE_H_
