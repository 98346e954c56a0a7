#ifndef MAXKERNEL_POLICIES_SCRIPT_H_
#define MAXKERNEL_POLICIES_SCRIPT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/policy_spec.h"

namespace maxkernel {

struct ScriptOptions {
  std::vector<std::string> command;            // program, found on PATH, and arguments; no shell is involved
  std::string working_directory;               // empty: that of this process
  std::size_t maximum_output = 16 << 20;       // bytes on standard output before the command is killed
  std::int64_t microdollars = 0;               // the most that one call may cost; reserved

  absl::Status Validate() const;
};

// The operator "script": a command that reads a request as JSON from standard input and writes candidates as JSON to standard
// output; docs/reference/script-operator.md describes both. It runs in a process group of its own, which is killed when the call is
// cancelled or its deadline passes.
absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakeScript(const ScriptOptions& options);
// script(command="python3 propose.py --fast", directory="", microdollars=0); the command is split at blanks.
absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakeScript(const PolicySpec& spec);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_SCRIPT_H_
