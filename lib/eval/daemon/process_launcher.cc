#include "lib/eval/daemon/process_launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "lib/eval/daemon/file_descriptor.h"
#include "maxkernel/internal/check.h"

namespace maxkernel::eval {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::StatusOr<pid_t> Spawn(const ProcessCommand& command, const std::vector<ChildDescriptor>& descriptors) {
  MAXKERNEL_CHECK(!command.arguments.empty());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  absl::Cleanup destroy_actions = [&] { posix_spawn_file_actions_destroy(&actions); };
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  int highest = 2;
  for (const ChildDescriptor& descriptor : descriptors) {
    posix_spawn_file_actions_adddup2(&actions, descriptor.ours, descriptor.theirs);
    highest = std::max(highest, descriptor.theirs);
  }
  // The embedding program may have descriptors that it forgot to mark close-on-exec.
  posix_spawn_file_actions_addclosefrom_np(&actions, highest + 1);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  absl::Cleanup destroy_attributes = [&] { posix_spawnattr_destroy(&attributes); };
  // The signal mask and ignored signals of the embedding program are not the child's business.
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, command.arguments.front().c_str(), &actions, &attributes, Pointers(command.arguments).data(),
                                  Pointers(command.environment).data());
  if (error != 0) return ErrnoStatus(absl::StrCat("start ", command.arguments.front()), error);
  return pid;
}

}  // namespace

ProcessLauncher::ProcessLauncher() : thread_([this] { Serve(); }) {}

ProcessLauncher::~ProcessLauncher() {
  {
    internal::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

absl::StatusOr<pid_t> ProcessLauncher::Launch(const ProcessCommand& command, const std::vector<ChildDescriptor>& descriptors) {
  Order order{command, descriptors};
  internal::MutexLock lock(mutex_);
  if (stopping_) return absl::UnavailableError("start a process: the launcher is shutting down");
  orders_.push_back(&order);
  changed_.NotifyAll();
  changed_.Wait(mutex_, [&] { return order.answered; });
  return std::move(order.answer);
}

void ProcessLauncher::Serve() {
  internal::MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(mutex_, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopping_ || !orders_.empty(); });
    if (orders_.empty()) return;
    Order* order = orders_.front();
    orders_.pop_front();
    mutex_.Unlock();
    absl::StatusOr<pid_t> answer = Spawn(order->command, order->descriptors);
    mutex_.Lock();
    order->answer = std::move(answer);
    order->answered = true;
    changed_.NotifyAll();
  }
}

}  // namespace maxkernel::eval
