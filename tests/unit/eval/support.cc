#include "tests/unit/eval/support.h"

#include <stdlib.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "lib/eval/daemon/state_folder.h"
#include "maxkernel/internal/check.h"
#include "nlohmann/json.hpp"

namespace maxkernel::testing {
namespace {

namespace fs = std::filesystem;

std::string Slurp(const fs::path& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

bool IsProcess(const fs::path& path) { return path.filename().string().find_first_not_of("0123456789") == std::string::npos; }

template <typename Matches>
int Count(Matches matches) {
  int count = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    if (!IsProcess(entry.path()) || Slurp(entry.path() / "stat").find(") Z ") != std::string::npos) continue;
    if (matches(entry.path())) ++count;
  }
  return count;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "maxkernel-test-XXXXXX").string();
  MAXKERNEL_CHECK(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() { eval::RemoveTree(path_); }

fs::path FakeRunner() { return MAXKERNEL_FAKE_RUNNER; }

fs::path Python() { return "/usr/bin/python3"; }

Task MakeTask(std::string_view reference, const std::vector<Fidelity>& valid) {
  nlohmann::json configuration = {
      {"name", "softmax"},
      {"chip", "v6e"},
      {"files", nlohmann::json::array({"common.py"})},
      {"cases",
       {{{"name", "square"}, {"params", {{"rows", 8}}}, {"hidden", false}, {"test", true}, {"score", true}},
        {{"name", "ragged"}, {"params", {{"rows", 7}}}, {"hidden", true}, {"test", true}, {"score", false}}}}};
  for (const Fidelity fidelity : valid) configuration["fidelity"]["valid"].push_back(std::string(ToString(fidelity)));
  configuration["fidelity"]["score"] = "estimate";
  Task task;
  task.name = "softmax";
  task.chip = "v6e";
  task.valid = valid;
  task.cases = {{"square", false, true, true}, {"ragged", true, true, false}};
  task.files = {{"reference.py", std::string(reference)}, {"inputs.py", ""}, {"common.py", "SHARED = 1\n"}};
  task.configuration = configuration.dump();
  task.digest = Sha256Hex(task.configuration + std::string(reference));
  task.baseline = MakeCandidate("");
  return task;
}

std::shared_ptr<const Candidate> MakeCandidate(std::string_view actions) {
  absl::StatusOr<Candidate> candidate = Candidate::FromText("candidate.py", actions.empty() ? "# nothing special\n" : actions);
  MAXKERNEL_CHECK(candidate.ok());
  return std::make_shared<const Candidate>(std::move(*candidate));
}

DaemonOptions FakeDaemonOptions(const TemporaryFolder& folder) {
  DaemonOptions options;
  options.state_folder = folder.path() / "state";
  options.python = Python();
  options.runner = FakeRunner();
  options.hardware_file = MAXKERNEL_HARDWARE_FILE;
  options.cpu_slots = 2;
  options.stage_deadline = absl::Seconds(20);
  options.drain_timeout = absl::Seconds(5);
  return options;
}

int CountProcesses(std::string_view name) {
  return Count([&](const fs::path& process) { return Slurp(process / "comm") == std::string(name) + "\n"; });
}

int CountProcessesWithArgument(std::string_view text) {
  return Count([&](const fs::path& process) { return Slurp(process / "cmdline").find(text) != std::string::npos; });
}

}  // namespace maxkernel::testing
