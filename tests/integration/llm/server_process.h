#ifndef MAXKERNEL_TESTS_INTEGRATION_LLM_SERVER_PROCESS_H_
#define MAXKERNEL_TESTS_INTEGRATION_LLM_SERVER_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace maxkernel::llm {

// A program that prints "port N" when it is ready; killed on destruction.
class ServerProcess {
 public:
  // `command` as for execvp. What the program prints before "port", if it ends early, is in failure().
  explicit ServerProcess(std::vector<std::string> command);
  ~ServerProcess();

  int port() const { return port_; }  // 0 if it did not come up
  std::string base_url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  const std::string& failure() const { return failure_; }
  int exit_status() const { return exit_status_; }  // of a program that did not come up

 private:
  pid_t process_ = -1;
  int output_ = -1;
  int port_ = 0;
  int exit_status_ = 0;
  std::string failure_;
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_TESTS_INTEGRATION_LLM_SERVER_PROCESS_H_
