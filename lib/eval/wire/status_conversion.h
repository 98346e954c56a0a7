#ifndef MAXKERNEL_LIB_EVAL_WIRE_STATUS_CONVERSION_H_
#define MAXKERNEL_LIB_EVAL_WIRE_STATUS_CONVERSION_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace maxkernel::eval {

// The codes of both have the same numbers and meanings.
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_WIRE_STATUS_CONVERSION_H_
