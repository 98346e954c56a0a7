#include "tests/integration/evald/daemon_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/unit/eval/support.h"

extern char** environ;

namespace maxkernel::testing {
namespace {

namespace fs = std::filesystem;

std::string Slurp(const fs::path& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

pid_t Spawn(const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<char*> pointers = {const_cast<char*>(MAXKERNEL_EVALD)};
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, MAXKERNEL_EVALD, &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

int ExitCode(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

ProgramOutput RunEvald(const std::vector<std::string>& arguments, const fs::path& folder) {
  const fs::path log = folder / "output";
  fs::remove(log);
  int status = 0;
  ::waitpid(Spawn(arguments, log), &status, 0);
  return {ExitCode(status), Slurp(log)};
}

DaemonProcess::DaemonProcess(const fs::path& folder, const std::string& listen, const std::vector<std::string>& arguments)
    : log_(folder / "log") {
  const fs::path port_file = folder / "port";
  fs::remove(port_file);
  std::vector<std::string> all = {"--listen", listen, "--port-file", port_file, "--state", folder / "state", "--cpu-slots", "2"};
  if (arguments.empty()) all.insert(all.end(), {"--python", Python(), "--runner", FakeRunner()});
  all.insert(all.end(), arguments.begin(), arguments.end());
  pid_ = Spawn(all, log_);
  for (int i = 0; i < 6000 && pid_ > 0 && !fs::exists(port_file); ++i) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) pid_ = -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::string port = Slurp(port_file);
  while (!port.empty() && port.back() == '\n') port.pop_back();
  address_ = listen.substr(0, 5) == "unix:" ? listen : listen.substr(0, listen.rfind(':') + 1) + port;
}

DaemonProcess::~DaemonProcess() {
  if (pid_ <= 0) return;
  Signal(SIGKILL);
  Wait();
}

void DaemonProcess::Signal(int number) const { ::kill(pid_, number); }

int DaemonProcess::Wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return ExitCode(status);
}

std::string DaemonProcess::Log() const { return Slurp(log_); }

}  // namespace maxkernel::testing
