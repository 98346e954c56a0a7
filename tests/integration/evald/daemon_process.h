// The daemon's program as a process of its own, for tests that kill it.
#ifndef MAXKERNEL_TESTS_INTEGRATION_EVALD_DAEMON_PROCESS_H_
#define MAXKERNEL_TESTS_INTEGRATION_EVALD_DAEMON_PROCESS_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace maxkernel::testing {

struct ProgramOutput {
  int exit_code = -1;
  std::string text;  // standard output and error
};

// Runs the daemon's program to its end.
ProgramOutput RunEvald(const std::vector<std::string>& arguments, const std::filesystem::path& folder);

// A running daemon over the fake runner (or `arguments` that say otherwise); killed with this object.
class DaemonProcess {
 public:
  // `listen` may have port 0. Waits until it listens; false from running() if it ended instead.
  DaemonProcess(const std::filesystem::path& folder, const std::string& listen, const std::vector<std::string>& arguments = {});
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  bool running() const { return pid_ > 0; }
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }
  void Signal(int number) const;
  // The exit status, or 128 + the signal's number.
  int Wait();
  std::string Log() const;

 private:
  std::filesystem::path log_;
  std::string address_;
  pid_t pid_ = -1;
};

}  // namespace maxkernel::testing

#endif  // MAXKERNEL_TESTS_INTEGRATION_EVALD_DAEMON_PROCESS_H_
