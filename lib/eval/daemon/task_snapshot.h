#ifndef MAXKERNEL_LIB_EVAL_DAEMON_TASK_SNAPSHOT_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_TASK_SNAPSHOT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/candidate.h"
#include "maxkernel/evaluation.h"
#include "nlohmann/json.hpp"

namespace maxkernel::eval {

struct SnapshotCase {
  std::string name;
  bool hidden = false;
  bool test = true;
  bool score = true;
  bool all_cases = false;  // stands for one case per input set, whose number only the runner finds out
};

// A task as a request brought it, checked.
struct TaskSnapshot {
  std::string name;
  std::vector<SourceFile> files;
  std::vector<SourceFile> shared_files;  // those that a candidate may import
  nlohmann::json configuration;
  std::vector<SnapshotCase> cases;
  std::vector<Fidelity> valid;
  std::string chip;
  std::string digest;  // ours, over files and configuration: a client's word is no cache key

  // InvalidArgument, naming the field, for a configuration that lacks what an evaluation needs, for names that are no file names, and
  // for unsafe paths.
  static absl::StatusOr<TaskSnapshot> Create(std::string name, const std::string& configuration_json, std::vector<SourceFile> files);
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_TASK_SNAPSHOT_H_
