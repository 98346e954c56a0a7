#ifndef MAXKERNEL_LIB_EVAL_WIRE_EVALUATION_CONVERSION_H_
#define MAXKERNEL_LIB_EVAL_WIRE_EVALUATION_CONVERSION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/candidate.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/evaluation.h"
#include "maxkernel/v1/evaluation.pb.h"

namespace maxkernel::eval {

// Between values and messages. What comes from a message is checked: InvalidArgument names the field for an unspecified or unknown enum
// value, and for a number that is not finite.
v1::Fidelity ToProto(Fidelity fidelity);
absl::StatusOr<Fidelity> FromProto(v1::Fidelity fidelity);
v1::Stage ToProto(Stage stage);
absl::StatusOr<Stage> FromProto(v1::Stage stage);

void ToProto(const Evaluation& evaluation, v1::Evaluation& message);
absl::StatusOr<Evaluation> FromProto(const v1::Evaluation& message);
void ToProto(const StageReport& report, v1::StageReport& message);
absl::StatusOr<StageReport> FromProto(const v1::StageReport& message);
void ToProto(const AdmissionReport& report, v1::AdmissionReport& message);
absl::StatusOr<AdmissionReport> FromProto(const v1::AdmissionReport& message);

void ToProto(const std::vector<SourceFile>& files, google::protobuf::RepeatedPtrField<v1::SourceFile>& messages);
std::vector<SourceFile> FromProto(const google::protobuf::RepeatedPtrField<v1::SourceFile>& messages);

void ToProto(absl::Duration duration, google::protobuf::Duration& message);
absl::Duration FromProto(const google::protobuf::Duration& message);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_WIRE_EVALUATION_CONVERSION_H_
