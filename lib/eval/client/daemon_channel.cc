#include "lib/eval/client/daemon_channel.h"

#include <grpcpp/create_channel.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/eval/wire/address_probe.h"
#include "lib/eval/wire/protocol_version.h"
#include "lib/eval/wire/status_conversion.h"

namespace maxkernel::eval {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(100);
constexpr absl::Duration kCancelTimeout = absl::Seconds(2);

grpc::ChannelArguments ChannelOptions() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageLimitBytes);
  arguments.SetMaxSendMessageSize(kMessageLimitBytes);
  // A host that hangs says nothing: only unanswered pings tell.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Also the time that one attempt to connect may take, which on a machine full of evaluations is not short.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DaemonChannel>> DaemonChannel::Create(const RemoteEvaluatorOptions& options) {
  const std::size_t colon = options.address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == options.address.size()) {
    return absl::InvalidArgumentError(absl::StrCat("evaluator address '", options.address, "': expected HOST:PORT or unix:PATH"));
  }
  if (options.reattach_attempts < 0) return absl::InvalidArgumentError("reattach_attempts: expected 0 or more");
  std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), ChannelOptions());
  return std::unique_ptr<DaemonChannel>(new DaemonChannel(options, std::move(channel)));
}

absl::StatusOr<v1::GetCapabilitiesResponse> DaemonChannel::GetCapabilities() {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.connect_timeout));
  v1::GetCapabilitiesRequest request;
  request.set_protocol_version(kProtocolVersion);
  request.set_client(options_.client_name);
  v1::GetCapabilitiesResponse response;
  const absl::Status status = FromGrpc(stub_->GetCapabilities(&context, request, &response));
  if (!status.ok()) return Explain(status);
  if (response.protocol_version() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the daemon at ", options_.address, " speaks version ", response.protocol_version(),
                                                      " of the evaluation protocol, this program version ", kProtocolVersion,
                                                      "; use programs of one release"));
  }
  return response;
}

absl::Status DaemonChannel::Explain(const absl::Status& status) const {
  const std::string who = absl::StrCat("evaluation daemon at ", options_.address, ": ");
  switch (status.code()) {
    case absl::StatusCode::kUnimplemented:
      return absl::FailedPreconditionError(
          absl::StrCat(who, "the gRPC server there is not a maxkernel evaluation daemon (", std::string(status.message()), ")"));
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      if (SomethingListens(options_.address)) {
        return absl::FailedPreconditionError(absl::StrCat(who, "something listens there that does not answer as a maxkernel evaluation "
                                                          "daemon (", std::string(status.message()), "); is it another program's port?"));
      }
      return absl::UnavailableError(absl::StrCat(who, "nobody listens there; start one with: maxkernel-evald --listen ", options_.address));
    default:
      return absl::Status(status.code(), absl::StrCat(who, std::string(status.message())));
  }
}

void DaemonChannel::AwaitConnection(absl::Duration pause, const std::stop_token& stop) {
  const absl::Time start = absl::Now();
  while (!stop.stop_requested() && absl::Now() < start + 2 * pause) {
    const absl::Time step = absl::Now() + kPollInterval;
    if (absl::Now() < start + pause) {
      absl::SleepFor(std::min(step, start + pause) - absl::Now());
    } else if (channel_->WaitForConnected(absl::ToChronoTime(step))) {
      return;
    }
  }
}

void DaemonChannel::Cancel(const std::string& key) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCancelTimeout));
  v1::CancelRequest request;
  request.set_idempotency_key(key);
  v1::CancelResponse response;
  // A daemon that does not hear it ends the work after its linger time.
  stub_->Cancel(&context, request, &response);
}

bool IsFromDaemon(const grpc::ClientContext& context) {
  return context.GetServerTrailingMetadata().count(kOriginMetadata) > 0;
}

}  // namespace maxkernel::eval
