#ifndef MAXKERNEL_LIB_EVAL_DAEMON_EVALUATION_RUN_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_EVALUATION_RUN_H_

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/eval/daemon/pipeline.h"
#include "lib/eval/daemon/role_policy.h"
#include "nlohmann/json.hpp"

namespace maxkernel::eval {

struct PipelineServices {
  const PipelineOptions& options;
  RoleRunner& runner;
  ReferenceStore& references;
  ExecutionGate& gate;
};

// Where the reference outputs of a task lie, pinned; from disk, or computed now by the `reference` role.
absl::StatusOr<ReferenceStore::Pin> GetReference(const PipelineServices& services, const EvaluationJob& job,
                                                 const nlohmann::json& hardware, const std::map<std::string, std::string>& environment,
                                                 const std::filesystem::path& task_folder, std::stop_token stop,
                                                 const PipelineObserver& observer);

// The fields of a runner job that all roles share.
nlohmann::json CommonJob(const TaskSnapshot& task, std::uint64_t seed, const nlohmann::json& hardware);
nlohmann::json CommonJob(const EvaluationJob& job, const nlohmann::json& hardware);

// One evaluation. Execute once. Not thread-safe.
class EvaluationRun {
 public:
  EvaluationRun(const PipelineServices& services, const EvaluationJob& job, const nlohmann::json& hardware,
                const ScratchFolder& scratch, std::map<std::string, std::string> environment, std::stop_token stop,
                const PipelineObserver& observer);

  absl::StatusOr<Evaluation> Execute();

 private:
  // Each adds its stage's report and returns whether the evaluation goes on.
  absl::StatusOr<bool> Author();
  absl::StatusOr<bool> Compile();
  absl::StatusOr<bool> Test();
  absl::StatusOr<bool> Measure();
  absl::Status MeasurePaired(RoleRequest& request, RoleVerdict& verdict);

  absl::Status Prepare();
  absl::StatusOr<RoleVerdict> RunAuthorOn(const Candidate& candidate, const std::filesystem::path& candidate_folder,
                                          const std::filesystem::path& modules);
  RoleRequest Request(Role role, Stage stage) const;
  absl::StatusOr<std::filesystem::path> ReferenceView() const;
  bool Wants(Fidelity fidelity) const { return wanted_.count(fidelity) > 0; }
  bool AnyCase(bool SnapshotCase::* flag) const;
  void Finish(Stage stage, const RoleVerdict& verdict, absl::Duration duration, std::vector<Diagnostic> diagnostics);
  void Fail(const RoleVerdict& verdict);
  absl::Status Merge(const RoleVerdict& verdict);
  void ExplainAbsences();

  const PipelineServices& services_;
  const EvaluationJob& job_;
  const nlohmann::json& hardware_;
  const ScratchFolder& scratch_;
  const std::stop_token stop_;
  const PipelineObserver& observer_;
  std::set<Fidelity> wanted_;
  std::filesystem::path task_folder_;
  std::filesystem::path shared_folder_;
  std::filesystem::path signature_folder_;
  std::filesystem::path modules_;
  ReferenceStore::Pin reference_;
  absl::Duration lowering_ = absl::ZeroDuration();  // the author's part of COMPILE
  std::vector<Diagnostic> lowering_diagnostics_;
  Evaluation evaluation_;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_EVALUATION_RUN_H_
