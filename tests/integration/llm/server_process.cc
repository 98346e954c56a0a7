#include "tests/integration/llm/server_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "maxkernel/internal/check.h"

namespace maxkernel::llm {

ServerProcess::ServerProcess(std::vector<std::string> command) {
  int pipe_ends[2];
  MAXKERNEL_CHECK(pipe(pipe_ends) == 0);
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  process_ = fork();
  MAXKERNEL_CHECK(process_ >= 0);
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(pipe_ends[1], STDOUT_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(pipe_ends[1]);
  output_ = pipe_ends[0];
  std::string line;
  char byte;
  while (read(output_, &byte, 1) == 1) {
    if (byte != '\n') {
      line.push_back(byte);
      continue;
    }
    if (line.starts_with("port ")) {
      port_ = std::atoi(line.c_str() + 5);
      return;
    }
    failure_ += line + "\n";
    line.clear();
  }
  failure_ += line;
  int status = 0;
  waitpid(process_, &status, 0);
  exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  process_ = -1;
}

ServerProcess::~ServerProcess() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  close(output_);
}

}  // namespace maxkernel::llm
