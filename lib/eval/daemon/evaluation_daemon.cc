#include "maxkernel/eval/evaluation_daemon.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "lib/eval/daemon/daemon_core.h"
#include "lib/eval/daemon/evaluation_service.h"
#include "lib/eval/daemon/listen_address.h"
#include "lib/eval/wire/address_probe.h"
#include "lib/eval/wire/protocol_version.h"

namespace maxkernel {
namespace {

// What clients may send unasked while they wait for a long evaluation.
constexpr int kPingIntervalMs = 5000;
constexpr int kPingTimeoutMs = 10000;
// For streams to deliver their last events once their jobs have ended.
constexpr auto kStreamGrace = std::chrono::seconds(2);

absl::Status AddressTaken(const std::string& address) {
  return absl::UnavailableError(absl::StrCat("listen on ", address, ": the address cannot be bound; is another daemon there?"));
}

class Daemon : public EvaluationDaemon {
 public:
  explicit Daemon(const DaemonOptions& options) : log_(options.log) {}
  ~Daemon() override { Shutdown(); }

  absl::Status Initialise(const DaemonOptions& options) {
    absl::StatusOr<eval::ListenAddress> listen = eval::ParseListenAddress(options.listen);
    if (!listen.ok()) return listen.status();
    // gRPC would take a Unix socket away from its owner.
    if (listen->is_unix && eval::SomethingListens(listen->target)) return AddressTaken(options.listen);
    absl::StatusOr<std::unique_ptr<eval::DaemonCore>> core = eval::DaemonCore::Create(options, log_);
    if (!core.ok()) return core.status();
    core_ = std::move(*core);
    service_ = std::make_unique<eval::EvaluationServiceImpl>(*core_);

    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    // Two servers on one port would each get a part of the calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kPingIntervalMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 4 * kPingIntervalMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
    builder.SetMaxReceiveMessageSize(eval::kMessageLimitBytes);
    builder.SetMaxSendMessageSize(eval::kMessageLimitBytes);
    int port = 0;
    builder.AddListeningPort(listen->target, grpc::InsecureServerCredentials(), listen->is_unix ? nullptr : &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || (!listen->is_unix && port == 0)) {
      return AddressTaken(options.listen);
    }
    port_ = port;
    address_ = listen->is_unix ? listen->target : absl::StrCat(listen->host, ":", port);
    server_->GetHealthCheckService()->SetServingStatus(v1::EvaluationService::service_full_name(), true);
    log_.Write("listening", {{"address", address_}});
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  const std::string& address() const override { return address_; }

  void Shutdown() override {
    std::call_once(shut_down_, [this] {
      if (core_ == nullptr) return;
      if (server_ != nullptr) server_->GetHealthCheckService()->SetServingStatus(false);
      log_.Write("draining", {});
      core_->Shutdown();
      if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now() + kStreamGrace);
      log_.Write("stopped", {});
    });
  }

 private:
  eval::Log log_;
  std::unique_ptr<eval::DaemonCore> core_;
  std::unique_ptr<eval::EvaluationServiceImpl> service_;
  std::unique_ptr<grpc::Server> server_;
  std::once_flag shut_down_;
  int port_ = 0;
  std::string address_;
};

}  // namespace

absl::Status DaemonOptions::Validate() const {
  const auto need = [](bool condition, const char* message) {
    return condition ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat("daemon options: ", message));
  };
  absl::StatusOr<eval::ListenAddress> address = eval::ParseListenAddress(listen);
  if (!address.ok()) return address.status();
  for (const absl::Status& status :
       {need(!state_folder.empty(), "state_folder: expected a folder"), need(!python.empty(), "python: expected an interpreter that has jax"),
        need(!runner.empty(), "runner: expected the folder that holds maxkernel_runner"),
        need(!hardware_file.empty(), "hardware_file: expected the path of hardware.yaml"),
        need(cpu_slots <= 1024, "cpu_slots: expected at most 1024"),
        need(memory_limit_bytes >= std::uint64_t{1} << 30, "memory_limit_bytes: expected at least 1 GiB, which jax needs to start"),
        need(output_limit_bytes >= 1024 && output_limit_bytes <= std::uint64_t{1} << 30, "output_limit_bytes: expected 1 KiB to 1 GiB"),
        need(stage_deadline > absl::ZeroDuration(), "stage_deadline: expected more than 0"),
        need(drain_timeout >= absl::ZeroDuration(), "drain_timeout: expected 0 or more")}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<EvaluationDaemon>> EvaluationDaemon::Start(const DaemonOptions& options) {
  auto daemon = std::make_unique<Daemon>(options);
  if (absl::Status status = daemon->Initialise(options); !status.ok()) return status;
  return daemon;
}

}  // namespace maxkernel
