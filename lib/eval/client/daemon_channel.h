#ifndef MAXKERNEL_LIB_EVAL_CLIENT_DAEMON_CHANNEL_H_
#define MAXKERNEL_LIB_EVAL_CLIENT_DAEMON_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/v1/evaluation.grpc.pb.h"

namespace maxkernel::eval {

// A connection to one daemon. Connects when first used.
// Thread-safe.
class DaemonChannel {
 public:
  // InvalidArgument for an address without a port or path.
  static absl::StatusOr<std::unique_ptr<DaemonChannel>> Create(const RemoteEvaluatorOptions& options);

  // Errors as MakeRemoteEvaluator describes them.
  absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilities();
  v1::EvaluationService::Stub& stub() { return *stub_; }
  // Pauses, then waits as long again for a connection if there is none. Returns early if `stop` is requested.
  void AwaitConnection(absl::Duration pause, const std::stop_token& stop);
  // Ends the lingering of the work under `key`. Best effort.
  void Cancel(const std::string& key);
  // Says more about a failed call than gRPC does: who, if anyone, listens.
  absl::Status Explain(const absl::Status& status) const;

  const RemoteEvaluatorOptions& options() const { return options_; }

 private:
  DaemonChannel(const RemoteEvaluatorOptions& options, std::shared_ptr<grpc::Channel> channel)
      : options_(options), channel_(std::move(channel)), stub_(v1::EvaluationService::NewStub(channel_)) {}

  const RemoteEvaluatorOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::EvaluationService::Stub> stub_;
};

// Whether the daemon itself answered a failed call, rather than the network or something else.
bool IsFromDaemon(const grpc::ClientContext& context);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_CLIENT_DAEMON_CHANNEL_H_
