// What the tests of evaluation share: a task, candidates that tell the fake runner what to do, folders.
#ifndef MAXKERNEL_TESTS_UNIT_EVAL_SUPPORT_H_
#define MAXKERNEL_TESTS_UNIT_EVAL_SUPPORT_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "maxkernel/candidate.h"
#include "maxkernel/eval/evaluation_daemon.h"
#include "maxkernel/task.h"

namespace maxkernel::testing {

// A new folder, removed with this object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Where the tests' own runner is, and an interpreter that runs it.
std::filesystem::path FakeRunner();
std::filesystem::path Python();

// A task of two cases, one of them hidden and not scored. `reference` tells the fake runner what to do in the role reference.
Task MakeTask(std::string_view reference = "", const std::vector<Fidelity>& valid = {Fidelity::kInterpret, Fidelity::kLower, Fidelity::kAot});
// A candidate for which the fake runner does as `actions` say, one line for each role: "# author: hang".
std::shared_ptr<const Candidate> MakeCandidate(std::string_view actions);

// A daemon over the fake runner.
DaemonOptions FakeDaemonOptions(const TemporaryFolder& folder);

// How many processes on this host bear this name (/proc/PID/comm), zombies excluded.
int CountProcesses(std::string_view name);
// How many processes have this among their arguments or their working files' paths.
int CountProcessesWithArgument(std::string_view text);

}  // namespace maxkernel::testing

#endif  // MAXKERNEL_TESTS_UNIT_EVAL_SUPPORT_H_
