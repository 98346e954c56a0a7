#ifndef MAXKERNEL_TASK_H_
#define MAXKERNEL_TASK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/candidate.h"
#include "maxkernel/evaluation.h"

namespace maxkernel {

struct TaskCase {
  std::string name;
  bool hidden = false;   // never shown to whoever proposes candidates
  bool test = true;      // its outputs are compared
  bool score = true;     // it is timed
};

// What to optimise: a reference implementation, input cases, tolerances, objective and target. docs/reference/task-format.md
// describes the folder it is loaded from.
// Thread-safe (immutable once loaded).
struct Task {
  std::string name;
  std::string description;
  std::string chip;                        // a name in the hardware file
  std::vector<Fidelity> valid;             // all must pass for a candidate to be correct
  Fidelity score = Fidelity::kEstimate;    // the one that gives times
  std::vector<TaskCase> cases;
  std::shared_ptr<const Candidate> baseline;  // never null
  std::vector<SourceFile> files;           // all of the folder that an evaluator needs
  std::string configuration;               // JSON: every setting with defaults filled in, as the runner gets it
  std::string digest;                      // SHA-256 over files and configuration, in hexadecimal
};

}  // namespace maxkernel

#endif  // MAXKERNEL_TASK_H_
