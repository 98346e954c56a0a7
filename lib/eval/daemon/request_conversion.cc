#include "lib/eval/daemon/request_conversion.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/eval/wire/evaluation_conversion.h"
#include "lib/eval/wire/protocol_version.h"

namespace maxkernel::eval {
namespace {

constexpr std::uint32_t kRepeatsLimit = 1000;
constexpr absl::Duration kLingerLimit = absl::Minutes(10);

absl::StatusOr<TaskSnapshot> ToTask(const v1::Task& task) {
  return TaskSnapshot::Create(task.name(), task.configuration_json(), FromProto(task.files()));
}

absl::StatusOr<Candidate> ToCandidate(const char* field, const v1::Candidate& message) {
  absl::StatusOr<Candidate> candidate = Candidate::Create(FromProto(message.files()));
  if (!candidate.ok()) return absl::InvalidArgumentError(absl::StrCat(field, ": ", candidate.status().message()));
  return candidate;
}

absl::StatusOr<absl::Duration> ToLinger(const google::protobuf::Duration& message) {
  const absl::Duration linger = FromProto(message);
  if (linger >= absl::ZeroDuration() && linger <= kLingerLimit) return linger;
  return absl::InvalidArgumentError(
      absl::StrCat("linger: expected 0 to ", absl::FormatDuration(kLingerLimit), ", got ", absl::FormatDuration(linger)));
}

}  // namespace

absl::Status CheckProtocolVersion(std::uint32_t version) {
  if (version == kProtocolVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the client speaks version ", version, " of the evaluation protocol, this daemon version ",
                                                    kProtocolVersion, "; use programs of one release"));
}

absl::StatusOr<EvaluationOrder> ToOrder(const v1::EvaluateRequest& request) {
  if (absl::Status status = CheckProtocolVersion(request.protocol_version()); !status.ok()) return status;
  absl::StatusOr<TaskSnapshot> task = ToTask(request.task());
  if (!task.ok()) return task.status();
  absl::StatusOr<Candidate> candidate = ToCandidate("candidate", request.candidate());
  if (!candidate.ok()) return candidate.status();
  absl::StatusOr<Fidelity> fidelity = FromProto(request.fidelity());
  if (!fidelity.ok()) return fidelity.status();
  absl::StatusOr<absl::Duration> linger = ToLinger(request.linger());
  if (!linger.ok()) return linger.status();
  if (request.repeats() < 1 || request.repeats() > kRepeatsLimit) {
    return absl::InvalidArgumentError(absl::StrCat("repeats: expected 1 to ", kRepeatsLimit, ", got ", request.repeats()));
  }
  EvaluationOrder order{request.client(), request.idempotency_key(), *linger, {std::move(*task), std::move(*candidate)}};
  if (request.has_paired()) {
    absl::StatusOr<Candidate> paired = ToCandidate("paired", request.paired());
    if (!paired.ok()) return paired.status();
    order.job.paired = std::move(*paired);
  }
  order.job.fidelity = *fidelity;
  order.job.repeats = request.repeats();
  order.job.seed = request.seed();
  if (request.has_stage_deadline()) {
    order.job.stage_deadline = FromProto(request.stage_deadline());
    if (order.job.stage_deadline <= absl::ZeroDuration()) return absl::InvalidArgumentError("stage_deadline: expected more than 0");
  }
  return order;
}

absl::StatusOr<AdmissionOrder> ToOrder(const v1::CheckTaskRequest& request) {
  if (absl::Status status = CheckProtocolVersion(request.protocol_version()); !status.ok()) return status;
  absl::StatusOr<TaskSnapshot> task = ToTask(request.task());
  if (!task.ok()) return task.status();
  absl::StatusOr<absl::Duration> linger = ToLinger(request.linger());
  if (!linger.ok()) return linger.status();
  return AdmissionOrder{request.client(), request.idempotency_key(), *linger, {std::move(*task), request.seed()}};
}

}  // namespace maxkernel::eval
