#include "tools/maxkernel/installation.h"

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> FromEnvironment(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::absolute(value);
}

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

struct Layout {
  fs::path share;
  fs::path runner;
  fs::path tasks;
  std::optional<fs::path> python;
};

std::optional<Layout> FindLayout() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  const fs::path installed = program.parent_path().parent_path() / "share" / "maxkernel";
  if (Exists(installed / "hardware.yaml")) return Layout{installed, installed / "runner", installed / "tasks", std::nullopt};
  const fs::path source = MAXKERNEL_SOURCE_DIR;
  if (!Exists(source / "share" / "hardware.yaml")) return std::nullopt;
  Layout layout{source / "share", source / "runner", source / "tasks", std::nullopt};
  const fs::path python = source / ".venv" / "bin" / "python";
  if (Exists(python)) layout.python = python;
  return layout;
}

std::optional<fs::path> FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && Exists(fs::path(folder) / name)) return fs::path(folder) / name;
  }
  return std::nullopt;
}

absl::Status Missing(std::string_view what, std::string_view variable, std::string_view advice) {
  return absl::FailedPreconditionError(absl::StrCat("cannot find ", std::string(what), "; ", std::string(advice), ", or name it with ",
                                                    std::string(variable)));
}

}  // namespace

absl::StatusOr<Installation> FindInstallation() {
  const std::optional<Layout> layout = FindLayout();
  std::optional<fs::path> share = FromEnvironment("MAXKERNEL_SHARE");
  std::optional<fs::path> runner = FromEnvironment("MAXKERNEL_RUNNER");
  std::optional<fs::path> python = FromEnvironment("MAXKERNEL_PYTHON");
  if (!share.has_value() && layout.has_value()) share = layout->share;
  if (!runner.has_value() && layout.has_value()) runner = layout->runner;
  if (!python.has_value() && layout.has_value()) python = layout->python;
  if (!python.has_value()) python = FindProgram("python3");
  if (!share.has_value()) return Missing("the data files (hardware.yaml)", "MAXKERNEL_SHARE", "install maxkernel with its share folder");
  if (!runner.has_value()) return Missing("the runner (maxkernel_runner)", "MAXKERNEL_RUNNER", "install maxkernel with its share folder");
  if (!python.has_value()) return Missing("a Python interpreter", "MAXKERNEL_PYTHON", "run scripts/setup");
  return Installation{*share, *runner, *python, layout.has_value() ? layout->tasks : *share / "tasks"};
}

}  // namespace maxkernel
