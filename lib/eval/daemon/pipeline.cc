#include "lib/eval/daemon/pipeline.h"

#include "absl/strings/str_cat.h"
#include "lib/eval/daemon/admission.h"
#include "lib/eval/daemon/evaluation_run.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::eval {

bool IsTimed(Fidelity fidelity) {
  return fidelity == Fidelity::kEstimate || fidelity == Fidelity::kCpu || fidelity == Fidelity::kDevice;
}

std::set<Fidelity> WantedFidelities(const EvaluationJob& job) {
  std::set<Fidelity> wanted = {job.fidelity};
  if (IsTimed(job.fidelity)) wanted.insert(job.task.valid.begin(), job.task.valid.end());
  return wanted;
}

Pipeline::Pipeline(const PipelineOptions& options, const HardwareFile& hardware, RoleRunner& runner, StateFolder& state,
                   ReferenceStore& references, ExecutionGate& gate)
    : options_(options), hardware_(hardware), runner_(runner), state_(state), references_(references), gate_(gate) {}

std::map<std::string, std::string> Pipeline::Environment(Fidelity fidelity, const std::string& chip) const {
  std::map<std::string, std::string> environment = options_.environment;
  environment["chip"] = chip;
  // Only wall-clock times depend on the machine.
  if (fidelity != Fidelity::kCpu && fidelity != Fidelity::kDevice) environment.erase("host");
  return environment;
}

absl::StatusOr<Evaluation> Pipeline::Evaluate(const EvaluationJob& job, std::stop_token stop, const PipelineObserver& observer) {
  if (job.fidelity == Fidelity::kDevice) {
    return absl::UnimplementedError("fidelity device: this daemon has no accelerator; its capabilities list what works here");
  }
  absl::StatusOr<nlohmann::json> hardware = hardware_.Chip(job.task.chip);
  if (!hardware.ok()) return hardware.status();
  absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = state_.MakeScratch();
  if (!scratch.ok()) return scratch.status();
  const PipelineServices services = {options_, runner_, references_, gate_};
  return EvaluationRun(services, job, *hardware, **scratch, Environment(job.fidelity, job.task.chip), stop, observer).Execute();
}

absl::StatusOr<AdmissionReport> Pipeline::Admit(const AdmissionJob& job, std::stop_token stop, const PipelineObserver& observer) {
  absl::StatusOr<nlohmann::json> hardware = hardware_.Chip(job.task.chip);
  if (!hardware.ok()) return hardware.status();
  absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = state_.MakeScratch();
  if (!scratch.ok()) return scratch.status();
  const PipelineServices services = {options_, runner_, references_, gate_};
  return RunAdmission(services, job, *hardware, **scratch, stop, observer);
}

}  // namespace maxkernel::eval
