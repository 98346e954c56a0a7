#ifndef MAXKERNEL_LIB_EVAL_DAEMON_ADMISSION_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_ADMISSION_H_

#include <stop_token>

#include "absl/status/statusor.h"
#include "lib/eval/daemon/evaluation_run.h"
#include "lib/eval/daemon/pipeline.h"

namespace maxkernel::eval {

// Runs a task's admission tests in the `admit` role. Errors as Pipeline::Admit.
absl::StatusOr<AdmissionReport> RunAdmission(const PipelineServices& services, const AdmissionJob& job, const nlohmann::json& hardware,
                                             const ScratchFolder& scratch, std::stop_token stop, const PipelineObserver& observer);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_ADMISSION_H_
