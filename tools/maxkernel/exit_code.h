#ifndef MAXKERNEL_TOOLS_MAXKERNEL_EXIT_CODE_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_EXIT_CODE_H_

#include "absl/status/status.h"

namespace maxkernel {

// docs/reference/cli.md lists these; scripts depend on them.
enum class ExitCode : int {
  kSuccess = 0,
  kUsage = 1,          // what was given is wrong: command line, configuration, task, file
  kWorld = 2,          // the environment is: no server, no disk, something not installed, a run in use
  kNoImprovement = 3,  // a search found nothing better, a candidate is not correct, a task is not admitted
  kInternal = 4,       // a fault of this program or of a policy
};

ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_EXIT_CODE_H_
