#ifndef MAXKERNEL_LIB_EVAL_DAEMON_REQUEST_CONVERSION_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_REQUEST_CONVERSION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/eval/daemon/daemon_core.h"
#include "maxkernel/v1/evaluation.pb.h"

namespace maxkernel::eval {

// FailedPrecondition, naming both versions, unless the client speaks ours.
absl::Status CheckProtocolVersion(std::uint32_t version);

// InvalidArgument, naming the field and what was expected.
absl::StatusOr<EvaluationOrder> ToOrder(const v1::EvaluateRequest& request);
absl::StatusOr<AdmissionOrder> ToOrder(const v1::CheckTaskRequest& request);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_REQUEST_CONVERSION_H_
