#include "tools/evald/daemon_flags.h"

#include <cstdlib>
#include <vector>

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

fs::path FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

// The first root that has `relative`, joined with it; the last root's where none has.
fs::path FindBelow(const std::vector<fs::path>& roots, const fs::path& relative) {
  for (const fs::path& root : roots) {
    std::error_code error;
    if (fs::exists(root / relative, error)) return root / relative;
  }
  return roots.back() / relative;
}

fs::path DefaultState() {
  const fs::path state = FromEnvironment("XDG_STATE_HOME");
  if (!state.empty()) return state / "maxkernel" / "evald";
  const fs::path home = FromEnvironment("HOME");
  return (home.empty() ? fs::path("/var/tmp") : home / ".local" / "state") / "maxkernel" / "evald";
}

void AddSeconds(CLI::App& app, const std::string& name, absl::Duration& value, const std::string& description) {
  app.add_option_function<double>(name, [&value](const double& seconds) { value = absl::Seconds(seconds); }, description)
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS")
      ->default_str(std::to_string(absl::ToInt64Seconds(value)));
}

void AddMebibytes(CLI::App& app, const std::string& name, std::uint64_t& value, const std::string& description) {
  app.add_option_function<std::uint64_t>(name, [&value](const std::uint64_t& mebibytes) { value = mebibytes * kMebibyte; }, description)
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30))
      ->type_name("MIB")
      ->default_str(std::to_string(value / kMebibyte));
}

}  // namespace

DaemonFiles DefaultFiles() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  const std::vector<fs::path> data = {executable.parent_path() / MAXKERNEL_DATA_FROM_BIN, MAXKERNEL_SOURCE_DIR};
  DaemonFiles files;
  files.runner = FindBelow(data, "runner").lexically_normal();
  files.hardware_file = FindBelow({data[0], data[1] / "share"}, "hardware.yaml").lexically_normal();
  files.python = FromEnvironment("MAXKERNEL_PYTHON");
  if (files.python.empty()) files.python = FindBelow(data, fs::path(".venv") / "bin" / "python").lexically_normal();
  files.state_folder = DefaultState();
  return files;
}

void AddFlags(CLI::App& app, DaemonFlags& flags) {
  const DaemonFiles files = DefaultFiles();
  DaemonOptions& options = flags.options;
  options.listen = "127.0.0.1:4000";
  options.runner = files.runner;
  options.hardware_file = files.hardware_file;
  options.python = files.python;
  options.state_folder = files.state_folder;

  app.add_option("--listen", options.listen, "Loopback HOST:PORT (port 0: any free one) or unix:PATH; nothing else is accepted")
      ->capture_default_str();
  app.add_option("--port-file", flags.port_file, "Write the port into this file once it listens (0 for a Unix socket)");
  app.add_option("--state", options.state_folder, "Folder for results, reference outputs and scratch; one daemon each")
      ->capture_default_str();
  app.add_option("--python", options.python, "Interpreter that has jax; default: MAXKERNEL_PYTHON, or .venv/bin/python of the tree")
      ->capture_default_str();
  app.add_option("--runner", options.runner, "Folder that holds maxkernel_runner")->capture_default_str();
  app.add_option("--hardware", options.hardware_file, "Chip facts")->capture_default_str();
  app.add_option("--cpu-slots", options.cpu_slots, "Evaluations at once; 0: one per core")->capture_default_str();
  app.add_option("--queue-limit", options.queue_limit, "Evaluations that may wait; more are refused")->capture_default_str();
  AddMebibytes(app, "--memory-limit", options.memory_limit_bytes, "Memory of one runner process");
  AddMebibytes(app, "--output-limit", options.output_limit_bytes, "Kept of a process's standard output and error");
  AddSeconds(app, "--stage-deadline", options.stage_deadline, "For each stage, from the start of its execution");
  AddSeconds(app, "--drain-timeout", options.drain_timeout, "For running evaluations, once asked to stop");
  app.add_flag_callback("--unsafe-no-sandbox", [&options] { options.isolation = DaemonOptions::Isolation::kNone; },
                        "Run candidates without a sandbox: they can read your files and use the network");
}

}  // namespace maxkernel
