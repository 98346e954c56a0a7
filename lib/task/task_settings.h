#ifndef MAXKERNEL_LIB_TASK_TASK_SETTINGS_H_
#define MAXKERNEL_LIB_TASK_TASK_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/task/task_folder.h"
#include "lib/task/yaml_reader.h"
#include "maxkernel/task.h"

namespace maxkernel::task {

inline constexpr char kTaskFile[] = "task.yaml";
inline constexpr char kKernelTaskFile[] = "kernel_task.yaml";

struct CaseSettings {
  TaskCase plain;
  Json params = Json::object();
  Json tolerance;
  bool all_cases = false;  // stands for one case per input set
};

// What a task's YAML file says, in either layout, with defaults filled in. Values that are only passed on stay JSON.
struct TaskSettings {
  std::string layout = "task";
  std::string name;
  std::string description;
  std::string reference = "reference.py";
  std::string inputs = "inputs.py";
  std::string baseline = "baseline.py";
  std::vector<std::string> files;
  std::string chip = "v6e";
  std::vector<Fidelity> valid{Fidelity::kInterpret, Fidelity::kLower};
  Fidelity score = Fidelity::kEstimate;
  Json tolerance;
  std::vector<CaseSettings> cases;
  std::string compare = "exact_order";
  std::vector<std::int64_t> donate;
  std::vector<std::string> allow;
  Json extra = Json::object();  // further keys of the other layout
};

absl::StatusOr<TaskSettings> ReadTaskYaml(const TaskFolder& folder, const YamlValue& yaml);

// As docs/reference/task-format.md describes it.
Json ConfigurationJson(const TaskSettings& settings);

}  // namespace maxkernel::task

#endif  // MAXKERNEL_LIB_TASK_TASK_SETTINGS_H_
