#include "lib/eval/daemon/evaluation_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "lib/eval/daemon/request_conversion.h"
#include "lib/eval/wire/evaluation_conversion.h"
#include "lib/eval/wire/protocol_version.h"
#include "lib/eval/wire/status_conversion.h"
#include "maxkernel/internal/mutex.h"

namespace maxkernel::eval {
namespace {

// What both kinds of stream have in common; a stage's report is for evaluations alone.
template <typename Event>
void FillEvent(const JobEvent& event, Event& message) {
  switch (event.kind) {
    case JobEvent::Kind::kQueued:
      message.mutable_queued()->set_position(event.position);
      return;
    case JobEvent::Kind::kStarted:
      message.mutable_started();
      return;
    case JobEvent::Kind::kProgress:
      message.mutable_progress()->set_stage(ToProto(event.stage));
      message.mutable_progress()->set_message(event.progress.message);
      message.mutable_progress()->set_case_name(event.progress.case_name);
      return;
    case JobEvent::Kind::kStageFinished:
      if constexpr (std::is_same_v<Event, v1::EvaluateEvent>) ToProto(*event.report, *message.mutable_stage_finished());
      return;
  }
}

void FillAnswer(const JobAnswer& answer, v1::EvaluateEvent& message) {
  ToProto(std::get<Evaluation>(answer), *message.mutable_finished());
}
void FillAnswer(const JobAnswer& answer, v1::CheckTaskEvent& message) {
  ToProto(std::get<AdmissionReport>(answer), *message.mutable_finished());
}

// Streams one watch. Deletes itself when the call is over.
template <typename Event>
class StreamReactor : public grpc::ServerWriteReactor<Event> {
 public:
  StreamReactor(DaemonCore& core, grpc::CallbackServerContext& context) : core_(core) {
    context.AddTrailingMetadata(kOriginMetadata, "daemon");
  }

  // `submit` takes the callback that says when there is something new, and gives the watch.
  template <typename Submit>
  void Begin(Submit submit) {
    absl::StatusOr<std::shared_ptr<JobWatch>> watch = submit([this] { Pump(); });
    {
      internal::MutexLock lock(mutex_);
      if (watch.ok()) {
        watch_ = std::move(*watch);
        message_.mutable_accepted()->set_joined(watch_->joined());
        writing_ = true;
      } else {
        finished_ = true;
      }
    }
    if (!watch.ok()) return this->Finish(ToGrpc(watch.status()));
    this->StartWrite(&message_);
  }

  void OnWriteDone(bool ok) override {
    {
      internal::MutexLock lock(mutex_);
      writing_ = false;
      broken_ = broken_ || !ok;
    }
    Pump();
  }

  void OnCancel() override {
    {
      internal::MutexLock lock(mutex_);
      broken_ = true;
    }
    Pump();
  }

  void OnDone() override {
    // Nobody else uses this object any more once the watch is silent.
    if (watch_ != nullptr) {
      watch_->Silence();
      core_.Leave(watch_);
    }
    delete this;
  }

 private:
  enum class Step { kNothing, kWrite, kFinish };

  // Writes the next event if there is one and none is being written; ends the call after the answer.
  void Pump() {
    grpc::Status status;
    Step step = Step::kNothing;
    {
      internal::MutexLock lock(mutex_);
      step = Next(status);
    }
    if (step == Step::kWrite) this->StartWrite(&message_);
    if (step == Step::kFinish) this->Finish(status);
  }

  Step Next(grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (watch_ == nullptr || writing_ || finished_) return Step::kNothing;
    if (broken_ || answered_) {
      finished_ = true;
      status = broken_ ? grpc::Status(grpc::StatusCode::CANCELLED, "the client has gone") : grpc::Status::OK;
      return Step::kFinish;
    }
    if (std::optional<JobEvent> event = watch_->Next()) return Prepare([&](Event& message) { FillEvent(*event, message); });
    const std::optional<absl::StatusOr<JobAnswer>> answer = watch_->Answer();
    if (!answer.has_value()) return Step::kNothing;
    if (!answer->ok()) {
      finished_ = true;
      status = ToGrpc(answer->status());
      return Step::kFinish;
    }
    answered_ = true;
    return Prepare([&](Event& message) { FillAnswer(**answer, message); });
  }

  template <typename Fill>
  Step Prepare(Fill fill) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    message_.Clear();
    fill(message_);
    writing_ = true;
    return Step::kWrite;
  }

  DaemonCore& core_;
  internal::Mutex mutex_;
  std::shared_ptr<JobWatch> watch_;  // set once, before any call of Pump does anything
  Event message_;                    // belongs to gRPC while writing_
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerUnaryReactor* EvaluationServiceImpl::GetCapabilities(grpc::CallbackServerContext* context,
                                                                 const v1::GetCapabilitiesRequest* request,
                                                                 v1::GetCapabilitiesResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (absl::Status status = CheckProtocolVersion(request->protocol_version()); !status.ok()) {
    reactor->Finish(ToGrpc(status));
    return reactor;
  }
  const DaemonProbe& probe = core_.probe();
  response->set_protocol_version(kProtocolVersion);
  response->set_version(probe.version);
  response->set_cpu_slots(probe.cpu_slots);
  response->set_devices(probe.devices);
  response->set_queue_limit(core_.options().queue_limit);
  response->set_isolation(probe.isolation);
  for (const FidelityProbe& entry : probe.fidelities) {
    v1::FidelityProbe& message = *response->add_fidelities();
    message.set_fidelity(ToProto(entry.fidelity));
    message.set_works(entry.works);
    message.set_detail(entry.detail);
  }
  response->mutable_environment()->insert(probe.environment.begin(), probe.environment.end());
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1::EvaluateEvent>* EvaluationServiceImpl::Evaluate(grpc::CallbackServerContext* context,
                                                                             const v1::EvaluateRequest* request) {
  auto* reactor = new StreamReactor<v1::EvaluateEvent>(core_, *context);
  reactor->Begin([&](std::function<void()> on_change) -> absl::StatusOr<std::shared_ptr<JobWatch>> {
    absl::StatusOr<EvaluationOrder> order = ToOrder(*request);
    if (!order.ok()) return order.status();
    return core_.Evaluate(std::move(*order), std::move(on_change));
  });
  return reactor;
}

grpc::ServerWriteReactor<v1::CheckTaskEvent>* EvaluationServiceImpl::CheckTask(grpc::CallbackServerContext* context,
                                                                               const v1::CheckTaskRequest* request) {
  auto* reactor = new StreamReactor<v1::CheckTaskEvent>(core_, *context);
  reactor->Begin([&](std::function<void()> on_change) -> absl::StatusOr<std::shared_ptr<JobWatch>> {
    absl::StatusOr<AdmissionOrder> order = ToOrder(*request);
    if (!order.ok()) return order.status();
    return core_.Admit(std::move(*order), std::move(on_change));
  });
  return reactor;
}

grpc::ServerUnaryReactor* EvaluationServiceImpl::Cancel(grpc::CallbackServerContext* context, const v1::CancelRequest* request,
                                                        v1::CancelResponse*) {
  core_.Cancel(request->idempotency_key());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace maxkernel::eval
