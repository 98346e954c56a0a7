#include "lib/eval/wire/status_conversion.h"

#include <string>

namespace maxkernel::eval {
namespace {

// Longer messages do not fit a response's metadata.
constexpr std::size_t kMessageLimit = 4000;

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string message(status.message());
  if (message.size() > kMessageLimit) message = message.substr(0, kMessageLimit) + "...";
  return {static_cast<grpc::StatusCode>(status.code()), message};
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

}  // namespace maxkernel::eval
