#include "tools/maxkernel/filter.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

extern char** environ;

namespace maxkernel {
namespace {

absl::Status SystemError(std::string_view action, int error) {
  return absl::UnavailableError(absl::StrCat(std::string(action), ": ", std::generic_category().message(error)));
}

absl::StatusOr<std::string> ReadFromStart(int descriptor) {
  std::string text;
  char buffer[65536];
  off_t offset = 0;
  while (true) {
    const ssize_t size = ::pread(descriptor, buffer, sizeof(buffer), offset);
    if (size < 0) return SystemError("read a program's output", errno);
    if (size == 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
    offset += size;
  }
}

}  // namespace

absl::StatusOr<std::string> RunFilter(const std::vector<std::string>& arguments, std::string_view input) {
  // Files in memory rather than pipes: neither side can block on the other.
  const int in = ::memfd_create("input", MFD_CLOEXEC);
  const int out = ::memfd_create("output", MFD_CLOEXEC);
  const absl::Cleanup close_files = [&] {
    if (in >= 0) ::close(in);
    if (out >= 0) ::close(out);
  };
  if (in < 0 || out < 0) return SystemError("make a file in memory", errno);
  while (!input.empty()) {
    const ssize_t size = ::write(in, input.data(), input.size());
    if (size < 0) return SystemError("write to a file in memory", errno);
    input.remove_prefix(static_cast<std::size_t>(size));
  }
  ::lseek(in, 0, SEEK_SET);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy_actions = [&] { posix_spawn_file_actions_destroy(&actions); };
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, pointers.front(), &actions, nullptr, pointers.data(), environ);
  if (error == ENOENT) return absl::NotFoundError(absl::StrCat("the program ", arguments.front(), " is not in PATH"));
  if (error != 0) return SystemError("start " + arguments.front(), error);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return SystemError("wait for " + arguments.front(), errno);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return absl::InternalError(absl::StrCat(arguments.front(), " failed; its message is above"));
  }
  return ReadFromStart(out);
}

}  // namespace maxkernel
