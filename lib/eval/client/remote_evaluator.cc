#include "maxkernel/eval/remote_evaluator.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/eval/client/daemon_channel.h"
#include "lib/eval/client/stream_call.h"
#include "lib/eval/wire/evaluation_conversion.h"
#include "lib/eval/wire/protocol_version.h"

namespace maxkernel {
namespace {

using eval::DaemonChannel;

// For a restarted daemon, or a broken connection, to be found again before the work is given up.
constexpr absl::Duration kLinger = absl::Seconds(30);

void FillTask(const Task& task, v1::Task& message) {
  message.set_name(task.name);
  message.set_digest(task.digest);
  message.set_configuration_json(task.configuration);
  eval::ToProto(task.files, *message.mutable_files());
}

absl::StatusOr<DaemonProbe> ToProbe(const v1::GetCapabilitiesResponse& message) {
  DaemonProbe probe;
  probe.version = message.version();
  probe.cpu_slots = message.cpu_slots();
  probe.devices = message.devices();
  probe.isolation = message.isolation();
  probe.environment.insert(message.environment().begin(), message.environment().end());
  for (const v1::FidelityProbe& entry : message.fidelities()) {
    absl::StatusOr<Fidelity> fidelity = eval::FromProto(entry.fidelity());
    // A later daemon may have more.
    if (fidelity.ok()) probe.fidelities.push_back({*fidelity, entry.works(), entry.detail()});
  }
  return probe;
}

class RemoteEvaluator : public Evaluator {
 public:
  RemoteEvaluator(std::shared_ptr<const Task> task, std::unique_ptr<DaemonChannel> channel)
      : task_(std::move(task)), channel_(std::move(channel)) {
    FillTask(*task_, task_message_);
  }

  absl::StatusOr<EvaluatorInfo> Describe() override {
    absl::StatusOr<v1::GetCapabilitiesResponse> capabilities = channel_->GetCapabilities();
    if (!capabilities.ok()) return capabilities.status();
    absl::StatusOr<DaemonProbe> probe = ToProbe(*capabilities);
    if (!probe.ok()) return probe.status();
    EvaluatorInfo info;
    info.name = absl::StrCat("evald at ", channel_->options().address);
    for (const FidelityProbe& entry : probe->fidelities) {
      if (entry.works) info.fidelities.push_back(entry.fidelity);
    }
    info.capacity = std::max(1u, probe->cpu_slots);
    info.environment = std::move(probe->environment);
    info.environment["chip"] = task_->chip;
    return info;
  }

  absl::StatusOr<Evaluation> Evaluate(const EvaluateArgs& args) override {
    const EvaluateRequest& wanted = args.request;
    if (wanted.candidate == nullptr) return absl::InvalidArgumentError("evaluate: the request has no candidate");
    v1::EvaluateRequest request;
    request.set_protocol_version(eval::kProtocolVersion);
    request.set_client(channel_->options().client_name);
    request.set_idempotency_key(wanted.idempotency_key);
    *request.mutable_task() = task_message_;
    eval::ToProto(wanted.candidate->files(), *request.mutable_candidate()->mutable_files());
    if (wanted.paired != nullptr) eval::ToProto(wanted.paired->files(), *request.mutable_paired()->mutable_files());
    request.set_fidelity(eval::ToProto(wanted.fidelity));
    request.set_repeats(wanted.repeats);
    request.set_seed(wanted.seed);
    eval::ToProto(kLinger, *request.mutable_linger());

    absl::StatusOr<v1::EvaluateEvent> answer = eval::StreamToAnswer<v1::EvaluateEvent>(
        *channel_, {wanted.idempotency_key, args.stop, args.deadline, args.progress},
        [&](grpc::ClientContext* context) { return channel_->stub().Evaluate(context, request); });
    if (!answer.ok()) return answer.status();
    absl::StatusOr<Evaluation> evaluation = eval::FromProto(answer->finished());
    if (!evaluation.ok()) {
      return absl::InternalError(absl::StrCat("evaluation daemon at ", channel_->options().address,
                                              " sent a malformed evaluation: ", evaluation.status().message()));
    }
    return evaluation;
  }

 private:
  const std::shared_ptr<const Task> task_;
  const std::unique_ptr<DaemonChannel> channel_;
  v1::Task task_message_;  // not changed after construction
};

}  // namespace

absl::StatusOr<std::unique_ptr<Evaluator>> MakeRemoteEvaluator(std::shared_ptr<const Task> task, const RemoteEvaluatorOptions& options) {
  if (task == nullptr) return absl::InvalidArgumentError("remote evaluator: expected a task");
  absl::StatusOr<std::unique_ptr<DaemonChannel>> channel = DaemonChannel::Create(options);
  if (!channel.ok()) return channel.status();
  return std::make_unique<RemoteEvaluator>(std::move(task), std::move(*channel));
}

absl::StatusOr<AdmissionReport> CheckTask(const Task& task, const RemoteEvaluatorOptions& options) {
  absl::StatusOr<std::unique_ptr<DaemonChannel>> channel = DaemonChannel::Create(options);
  if (!channel.ok()) return channel.status();
  if (absl::StatusOr<v1::GetCapabilitiesResponse> known = (*channel)->GetCapabilities(); !known.ok()) return known.status();
  v1::CheckTaskRequest request;
  request.set_protocol_version(eval::kProtocolVersion);
  request.set_client(options.client_name);
  // A key of its own: whether an earlier report still holds is the daemon's to say, who knows the runner's version.
  request.set_idempotency_key(absl::StrCat("check-", task.digest.substr(0, 16), "-", ::getpid(), "-", absl::ToUnixNanos(absl::Now())));
  FillTask(task, *request.mutable_task());
  eval::ToProto(kLinger, *request.mutable_linger());
  absl::StatusOr<v1::CheckTaskEvent> answer = eval::StreamToAnswer<v1::CheckTaskEvent>(
      **channel, {request.idempotency_key(), {}, absl::InfiniteFuture(), nullptr},
      [&](grpc::ClientContext* context) { return (*channel)->stub().CheckTask(context, request); });
  if (!answer.ok()) return answer.status();
  return eval::FromProto(answer->finished());
}

absl::StatusOr<DaemonProbe> ProbeDaemon(const RemoteEvaluatorOptions& options) {
  absl::StatusOr<std::unique_ptr<DaemonChannel>> channel = DaemonChannel::Create(options);
  if (!channel.ok()) return channel.status();
  absl::StatusOr<v1::GetCapabilitiesResponse> capabilities = (*channel)->GetCapabilities();
  if (!capabilities.ok()) return capabilities.status();
  return ToProbe(*capabilities);
}

}  // namespace maxkernel
