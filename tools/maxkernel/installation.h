#ifndef MAXKERNEL_TOOLS_MAXKERNEL_INSTALLATION_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_INSTALLATION_H_

#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"

namespace maxkernel {

// Where the data files and the Python side are: in the source tree that the program was built in, or beside the installed program.
struct Installation {
  std::filesystem::path share;   // MAXKERNEL_SHARE: hardware.yaml, prompts
  std::filesystem::path runner;  // MAXKERNEL_RUNNER: the folder that holds maxkernel_runner
  std::filesystem::path python;  // MAXKERNEL_PYTHON: an interpreter that has jax
  std::filesystem::path tasks;   // the task library

  std::filesystem::path hardware_file() const { return share / "hardware.yaml"; }
  std::filesystem::path prompt_folder() const { return share / "prompts"; }
};

// NotFound says what was looked for, where, and which variable names it.
absl::StatusOr<Installation> FindInstallation();

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_INSTALLATION_H_
