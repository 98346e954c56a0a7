#include "lib/eval/daemon/sandbox.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/eval/daemon/bounded_text.h"
#include "lib/eval/daemon/process_runner.h"
#include "nlohmann/json.hpp"

namespace maxkernel::eval {
namespace {

namespace fs = std::filesystem;
using Isolation = SandboxOptions::Isolation;

constexpr absl::Duration kProbeDeadline = absl::Seconds(30);
// Enters the control groups before anything else runs.
constexpr char kEnterGroups[] = "while [ \"$1\" != -- ]; do echo $$ > \"$1\" || exit 125; shift; done; shift; exec \"$@\"";
constexpr char kReportFolders[] =
    "import json, os, struct, sys\n"
    "text = json.dumps({'executable': sys.executable, 'folders': [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]}).encode()\n"
    "os.write(4, struct.pack('>I', len(text)) + text)\n";
constexpr char kReportAlive[] =
    "import os, struct\n"
    "text = b'{}'\n"
    "os.write(4, struct.pack('>I', len(text)) + text)\n";

std::string FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    const std::string candidate = absl::StrCat(folder, "/", name);
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

bool IsBelow(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

std::string Limit(const char* option, int resource, std::uint64_t wanted) {
  rlimit current = {};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &current);
  const std::uint64_t value = current.rlim_max == RLIM_INFINITY ? wanted : std::min<std::uint64_t>(wanted, current.rlim_max);
  return absl::StrCat(option, "=", value, ":", value);
}

std::vector<std::string> Environment() {
  // One BLAS thread: evaluations run side by side, and XLA has a pool of its own.
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin",    "HOME=/tmp",           "TMPDIR=/tmp",
                                          "LANG=C.UTF-8",          "OMP_NUM_THREADS=1",   "OPENBLAS_NUM_THREADS=1",
                                          "TF_CPP_MIN_LOG_LEVEL=2"};
  // Which OpenBLAS kernels are right for a virtual machine is known to its owner alone.
  if (const char* core = std::getenv("OPENBLAS_CORETYPE")) environment.push_back(absl::StrCat("OPENBLAS_CORETYPE=", core));
  return environment;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sandbox>> Sandbox::Create(const SandboxOptions& options, ProcessLauncher& launcher) {
  std::unique_ptr<Sandbox> sandbox(new Sandbox(options));
  if (sandbox->options_.limits.processes == 0) {
    sandbox->options_.limits.processes = 512 + 16 * std::uint64_t{std::max(1u, std::thread::hardware_concurrency())};
  }
  if (absl::Status status = sandbox->FindPrograms(); !status.ok()) return status;
  sandbox->control_groups_ = ControlGroupFactory::Detect();
  if (absl::Status status = sandbox->FindPythonFolders(launcher); !status.ok()) return status;
  if (absl::Status status = sandbox->Probe(launcher); !status.ok()) return status;
  return sandbox;
}

std::string Sandbox::Describe() const { return reports() ? "bubblewrap" : "none (asked for by --unsafe-no-sandbox)"; }

fs::path Sandbox::Visible(const Mount& mount) const { return reports() ? mount.destination : mount.source; }

absl::Status Sandbox::FindPrograms() {
  prlimit_ = FindProgram("prlimit");
  setpriv_ = FindProgram("setpriv");
  if (prlimit_.empty() || setpriv_.empty()) {
    return absl::FailedPreconditionError("find prlimit and setpriv in PATH: missing; install the package util-linux");
  }
  bubblewrap_ = FindProgram("bwrap");
  if (reports() && bubblewrap_.empty()) {
    return absl::FailedPreconditionError(
        "find bwrap in PATH: missing; install the package bubblewrap, or ask for no sandbox with --unsafe-no-sandbox");
  }
  if (::access(options_.python.c_str(), X_OK) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("run the interpreter '", options_.python.string(),
                                                      "': no such program; name one that has jax with --python or MAXKERNEL_PYTHON"));
  }
  if (!fs::exists(options_.runner / "maxkernel_runner" / "__main__.py")) {
    return absl::FailedPreconditionError(absl::StrCat("find maxkernel_runner/__main__.py in '", options_.runner.string(),
                                                      "': missing; name the folder that holds it with --runner"));
  }
  return absl::OkStatus();
}

absl::Status Sandbox::FindPythonFolders(ProcessLauncher& launcher) {
  std::string answer;
  ProcessRequest request;
  request.command = {{options_.python.string(), "-I", "-c", kReportFolders}, Environment()};
  request.deadline = kProbeDeadline;
  request.on_frame = [&](std::string frame) {
    answer = std::move(frame);
    return FrameAction::kEnd;
  };
  const ProcessOutcome outcome = RunProcess(launcher, request);
  const nlohmann::json report = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (outcome.end != ProcessOutcome::End::kResult || !report.is_object()) {
    return absl::FailedPreconditionError(absl::StrCat("run the interpreter '", options_.python.string(), "': it does not work: ",
                                                      outcome.detail, Tail(outcome.error_output, 500)));
  }
  std::vector<fs::path> folders;
  for (const nlohmann::json& folder : report["folders"]) folders.emplace_back(folder.get<std::string>());
  // What was named may be a script that chooses an interpreter.
  options_.python = report["executable"].get<std::string>();
  folders.push_back(options_.runner);
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (const fs::path& path : {folder, fs::weakly_canonical(folder, error)}) {
      if (IsBelow(path, "/usr") || path == "/" || path.empty()) continue;
      if (std::find(read_only_.begin(), read_only_.end(), path) == read_only_.end()) read_only_.push_back(path);
    }
  }
  return absl::OkStatus();
}

absl::Status Sandbox::Probe(ProcessLauncher& launcher) const {
  ProcessRequest request;
  request.command = Command({}, {options_.python.string(), "-I", "-c", kReportAlive}, nullptr);
  request.sandbox_reports = reports();
  request.deadline = kProbeDeadline;
  request.on_frame = [](std::string) { return FrameAction::kEnd; };
  const ProcessOutcome outcome = RunProcess(launcher, request);
  if (outcome.end == ProcessOutcome::End::kResult) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("start '", options_.python.string(), "' in the sandbox: ", outcome.detail, " ",
                                                    Tail(outcome.error_output, 500),
                                                    "; user namespaces must be allowed (sysctl user.max_user_namespaces, "
                                                    "kernel.unprivileged_userns_clone), or ask for no sandbox with --unsafe-no-sandbox"));
}

ProcessCommand Sandbox::RunnerCommand(const std::vector<Mount>& mounts, const ControlGroup* group) const {
  return Command(mounts,
                 {options_.python.string(), "-I", (options_.runner / "maxkernel_runner" / "__main__.py").string(), "--job-fd", "3",
                  "--result-fd", "4"},
                 group);
}

ProcessCommand Sandbox::Command(const std::vector<Mount>& mounts, const std::vector<std::string>& arguments,
                                const ControlGroup* group) const {
  ProcessCommand command;
  std::vector<std::string>& line = command.arguments;
  const std::vector<std::string> environment = Environment();
  if (group != nullptr) {
    line = {"/bin/sh", "-c", kEnterGroups, "maxkernel-runner"};
    for (const std::string& file : group->EntryFiles()) line.push_back(file);
    line.push_back("--");
  }
  const SandboxLimits& limits = options_.limits;
  line.insert(line.end(), {prlimit_, Limit("--as", RLIMIT_AS, limits.memory_bytes), Limit("--fsize", RLIMIT_FSIZE, limits.file_bytes),
                           Limit("--nofile", RLIMIT_NOFILE, limits.descriptors), "--core=0:0"});
  // Ignored by the kernel for root, whose processes a control group bounds. Counts all processes of the user, hence the slack.
  if (::geteuid() != 0) line.push_back(Limit("--nproc", RLIMIT_NPROC, 4 * limits.processes));
  line.push_back("--");
  if (!reports()) {
    line.insert(line.end(), {setpriv_, "--pdeathsig", "KILL", "--no-new-privs", "--"});
    line.insert(line.end(), arguments.begin(), arguments.end());
    command.environment = environment;
    return command;
  }
  line.insert(line.end(), {bubblewrap_, "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
                           "--disable-userns", "--die-with-parent", "--new-session", "--clearenv", "--json-status-fd", "5", "--proc",
                           "/proc", "--dev", "/dev", "--size", absl::StrCat(limits.temporary_bytes), "--tmpfs", "/tmp"});
  for (const std::string& variable : environment) {
    const std::vector<std::string> parts = absl::StrSplit(variable, absl::MaxSplits('=', 1));
    line.insert(line.end(), {"--setenv", parts[0], parts[1]});
  }
  // libtpu counts processors there and aborts if it cannot.
  line.insert(line.end(), {"--ro-bind-try", "/sys/devices/system/cpu", "/sys/devices/system/cpu"});
  line.insert(line.end(), {"--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"});
  for (const char* folder : {"/bin", "/lib", "/lib32", "/lib64"}) {
    std::error_code error;
    if (fs::is_symlink(folder, error)) {
      line.insert(line.end(), {"--symlink", fs::read_symlink(folder, error).string(), folder});
    } else {
      line.insert(line.end(), {"--ro-bind-try", folder, folder});
    }
  }
  for (const fs::path& folder : read_only_) line.insert(line.end(), {"--ro-bind", folder.string(), folder.string()});
  for (const Mount& mount : mounts) {
    line.insert(line.end(), {mount.access == Mount::Access::kWrite ? "--bind" : "--ro-bind", mount.source.string(),
                             mount.destination.string()});
  }
  line.insert(line.end(), {"--remount-ro", "/", "--chdir", "/tmp", "--"});
  line.insert(line.end(), arguments.begin(), arguments.end());
  command.environment = {"PATH=/usr/bin:/bin"};
  return command;
}

}  // namespace maxkernel::eval
