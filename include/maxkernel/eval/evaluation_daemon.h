#ifndef MAXKERNEL_EVAL_EVALUATION_DAEMON_H_
#define MAXKERNEL_EVAL_EVALUATION_DAEMON_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace maxkernel {

struct DaemonOptions {
  std::string listen = "127.0.0.1:0";          // loopback or a Unix socket; anything else is refused
  std::filesystem::path state_folder;          // results, reference outputs, scratch; made if missing
  std::filesystem::path python;                // an interpreter that has jax
  std::filesystem::path runner;                // the folder that holds maxkernel_runner
  std::filesystem::path hardware_file;         // share/hardware.yaml
  std::uint32_t cpu_slots = 0;                 // evaluations at once; 0: one per core
  std::uint32_t queue_limit = 64;              // waiting evaluations; beyond it: RESOURCE_EXHAUSTED
  enum class Isolation : std::uint8_t { kBubblewrap, kNone };
  Isolation isolation = Isolation::kBubblewrap;  // kNone has to be asked for: process groups and rlimits only
  std::uint64_t memory_limit_bytes = std::uint64_t{8} << 30;   // address space of one runner process
  std::uint64_t output_limit_bytes = std::uint64_t{1} << 20;   // kept of a process's standard output and error
  absl::Duration stage_deadline = absl::Minutes(5);            // per stage, from the start of its execution
  absl::Duration drain_timeout = absl::Minutes(2);             // for running evaluations on Shutdown
  // Gets whole lines, each one JSON object, from any thread but one at a time. Empty: no log.
  std::function<void(std::string_view)> log;

  absl::Status Validate() const;
};

// The evaluation daemon of one host, embeddable: queue, sandboxed runner processes, result cache, gRPC service with health and
// reflection. Listens once Start has returned.
// Thread-safe.
class EvaluationDaemon {
 public:
  // InvalidArgument for bad options; FailedPrecondition, naming what is missing and how to get it, if the interpreter, the runner or the
  // sandbox does not work; kUnavailable if the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<EvaluationDaemon>> Start(const DaemonOptions& options);
  virtual ~EvaluationDaemon() = default;

  virtual int port() const = 0;                 // 0 for a Unix socket
  virtual const std::string& address() const = 0;  // what clients connect to
  // Refuses new work, waits for running evaluations up to the drain timeout, then kills their process trees.
  virtual void Shutdown() = 0;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_EVAL_EVALUATION_DAEMON_H_
