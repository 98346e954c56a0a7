#include "lib/eval/daemon/control_group.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "lib/eval/daemon/file_descriptor.h"

namespace maxkernel::eval {
namespace {

namespace fs = std::filesystem;

bool WriteText(const fs::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text;
  stream.flush();
  return stream.good();
}

std::string ReadText(const fs::path& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// The value after `name` in a file of "name value" lines; 0 if there is none.
std::uint64_t ReadCounter(const fs::path& file, const std::string& name) {
  std::ifstream stream(file);
  std::string key;
  std::uint64_t value = 0;
  while (stream >> key >> value) {
    if (key == name) return value;
  }
  return 0;
}

bool HasWord(const std::string& text, const std::string& word) {
  for (absl::string_view part : absl::StrSplit(text, absl::ByAnyChar("+, \n"))) {
    if (part == word) return true;
  }
  return false;
}

bool CanMakeFolderIn(const fs::path& parent) {
  const fs::path probe = parent / absl::StrCat("maxkernel-probe.", ::getpid());
  if (::mkdir(probe.c_str(), 0755) != 0) return false;
  ::rmdir(probe.c_str());
  return true;
}

// "maxkernel-evald.NAMESPACE.PID.N": a process id means something only within its namespace of process ids.
std::string GroupPrefix() {
  std::error_code error;
  std::string space = fs::read_symlink("/proc/self/ns/pid", error).string();
  space.erase(std::remove_if(space.begin(), space.end(), [](char c) { return !absl::ascii_isdigit(static_cast<unsigned char>(c)); }), space.end());
  return absl::StrCat("maxkernel-evald.", space, ".");
}

// What daemons that were killed could not remove. A sandbox that was only being set up when its daemon died is still there: bubblewrap ties
// its inner process to the outer one at the end of the set-up.
void RemoveLeftOvers(const fs::path& parent) {
  const std::string prefix = GroupPrefix();
  std::vector<fs::path> left_over;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!absl::StartsWith(name, prefix)) continue;
    pid_t pid = 0;
    const std::vector<std::string> rest = absl::StrSplit(name.substr(prefix.size()), '.');
    if (rest.size() != 2 || !absl::SimpleAtoi(rest[0], &pid) || ::kill(pid, 0) == 0 || errno != ESRCH) continue;
    left_over.push_back(entry->path());
  }
  // Its end kills what is in it.
  for (const fs::path& folder : left_over) ControlGroup ended({folder});
}

struct Membership {
  std::string controllers;  // empty: version 2
  std::string path;
};

std::vector<Membership> ReadMemberships(const fs::path& file) {
  std::vector<Membership> memberships;
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line)) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() == 3) memberships.push_back({parts[1], parts[2]});
  }
  return memberships;
}

struct MountPoint {
  std::string folder;
  std::string type;
  std::string options;
};

std::vector<MountPoint> ReadMounts(const fs::path& file) {
  std::vector<MountPoint> mounts;
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line)) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    if (parts.size() >= 4 && absl::StartsWith(parts[2], "cgroup")) mounts.push_back({parts[1], parts[2], parts[3]});
  }
  return mounts;
}

fs::path Under(const std::string& mount, const std::string& path) {
  return path == "/" ? fs::path(mount) : fs::path(mount) / fs::path(path).relative_path();
}

}  // namespace

ControlGroup::~ControlGroup() {
  for (const fs::path& folder : folders_) {
    // A group can be removed once its last process has been reaped.
    for (int attempt = 0; ::rmdir(folder.c_str()) != 0 && errno == EBUSY && attempt < 200; ++attempt) {
      KillAll();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

std::vector<std::string> ControlGroup::EntryFiles() const {
  std::vector<std::string> files;
  for (const fs::path& folder : folders_) files.push_back((folder / "cgroup.procs").string());
  return files;
}

void ControlGroup::KillAll() const {
  for (const fs::path& folder : folders_) {
    if (WriteText(folder / "cgroup.kill", "1")) continue;
    std::ifstream stream(folder / "cgroup.procs");
    for (pid_t pid = 0; stream >> pid;) ::kill(pid, SIGKILL);
  }
}

bool ControlGroup::RanOutOfMemory() const {
  for (const fs::path& folder : folders_) {
    if (ReadCounter(folder / "memory.oom_control", "oom_kill") > 0) return true;
    if (ReadCounter(folder / "memory.events", "oom_kill") > 0) return true;
  }
  return false;
}

bool ControlGroup::RanOutOfProcesses() const {
  for (const fs::path& folder : folders_) {
    if (ReadCounter(folder / "pids.events", "max") > 0) return true;
  }
  return false;
}

ControlGroupFactory::ControlGroupFactory(std::vector<Hierarchy> hierarchies) : hierarchies_(std::move(hierarchies)) {
  std::vector<std::string> parts;
  for (const Hierarchy& hierarchy : hierarchies_) {
    if (hierarchy.pids) parts.push_back("pids");
    if (hierarchy.memory) parts.push_back("memory");
    limits_processes_ = limits_processes_ || hierarchy.pids;
  }
  description_ = absl::StrCat(absl::StrJoin(parts, " and "), hierarchies_.front().version2 ? " (version 2)" : " (version 1)");
}

std::unique_ptr<ControlGroupFactory> ControlGroupFactory::Detect(const fs::path& proc_file, const fs::path& mounts_file) {
  const std::vector<MountPoint> mounts = ReadMounts(mounts_file);
  std::vector<Hierarchy> hierarchies;
  for (const Membership& membership : ReadMemberships(proc_file)) {
    for (const MountPoint& mount : mounts) {
      Hierarchy hierarchy;
      const fs::path own = Under(mount.folder, membership.path);
      if (membership.controllers.empty() && mount.type == "cgroup2") {
        // Processes may be only in leaves, so the groups lie beside ours.
        hierarchy.version2 = true;
        hierarchy.parent = own.parent_path();
        if (membership.path == "/" || !WriteText(hierarchy.parent / "cgroup.subtree_control", "+memory +pids")) continue;
        const std::string enabled = ReadText(hierarchy.parent / "cgroup.subtree_control");
        hierarchy.memory = HasWord(enabled, "memory");
        hierarchy.pids = HasWord(enabled, "pids");
      } else if (!membership.controllers.empty() && mount.type == "cgroup") {
        hierarchy.parent = own;
        hierarchy.memory = HasWord(membership.controllers, "memory") && HasWord(mount.options, "memory");
        hierarchy.pids = HasWord(membership.controllers, "pids") && HasWord(mount.options, "pids");
      }
      if ((hierarchy.memory || hierarchy.pids) && CanMakeFolderIn(hierarchy.parent)) hierarchies.push_back(hierarchy);
    }
  }
  if (hierarchies.empty()) return nullptr;
  for (const Hierarchy& hierarchy : hierarchies) RemoveLeftOvers(hierarchy.parent);
  return std::unique_ptr<ControlGroupFactory>(new ControlGroupFactory(std::move(hierarchies)));
}

absl::StatusOr<std::unique_ptr<ControlGroup>> ControlGroupFactory::Make(const ControlGroupLimits& limits) {
  const std::string name = absl::StrCat(GroupPrefix(), ::getpid(), ".", next_.fetch_add(1));
  std::vector<fs::path> folders;
  for (const Hierarchy& hierarchy : hierarchies_) {
    const fs::path folder = hierarchy.parent / name;
    if (::mkdir(folder.c_str(), 0755) != 0) {
      const absl::Status status = ErrnoStatus(absl::StrCat("make the control group ", folder.string()), errno);
      ControlGroup made(std::move(folders));
      return status;
    }
    folders.push_back(folder);
    bool limited = true;
    if (hierarchy.pids && limits.processes > 0) limited = WriteText(folder / "pids.max", absl::StrCat(limits.processes));
    if (hierarchy.memory && limits.memory_bytes > 0) {
      limited = limited && WriteText(folder / (hierarchy.version2 ? "memory.max" : "memory.limit_in_bytes"), absl::StrCat(limits.memory_bytes));
    }
    if (!limited) {
      ControlGroup made(std::move(folders));
      return absl::UnavailableError(absl::StrCat("set the limits of the control group ", folder.string()));
    }
  }
  return std::make_unique<ControlGroup>(std::move(folders));
}

}  // namespace maxkernel::eval
