#ifndef MAXKERNEL_LIB_EVAL_DAEMON_EVALUATION_SERVICE_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_EVALUATION_SERVICE_H_

#include "lib/eval/daemon/daemon_core.h"
#include "maxkernel/v1/evaluation.grpc.pb.h"

namespace maxkernel::eval {

// Puts the core on the wire: checks and converts requests, streams what watches tell.
// Thread-safe. The core must outlive it.
class EvaluationServiceImpl final : public v1::EvaluationService::CallbackService {
 public:
  explicit EvaluationServiceImpl(DaemonCore& core) : core_(core) {}

  grpc::ServerUnaryReactor* GetCapabilities(grpc::CallbackServerContext* context, const v1::GetCapabilitiesRequest* request,
                                            v1::GetCapabilitiesResponse* response) override;
  grpc::ServerWriteReactor<v1::EvaluateEvent>* Evaluate(grpc::CallbackServerContext* context, const v1::EvaluateRequest* request) override;
  grpc::ServerWriteReactor<v1::CheckTaskEvent>* CheckTask(grpc::CallbackServerContext* context,
                                                          const v1::CheckTaskRequest* request) override;
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* context, const v1::CancelRequest* request,
                                   v1::CancelResponse* response) override;

 private:
  DaemonCore& core_;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_EVALUATION_SERVICE_H_
