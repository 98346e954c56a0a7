#include "tools/maxkernel/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "maxkernel/internal/check.h"

namespace maxkernel {
namespace {

constexpr char kInterrupt = 'i';
constexpr char kEnd = 'e';

// The handler of a signal can reach nothing else.
std::atomic<int> write_end{-1};

void OnSignal(int) {
  const int saved = errno;
  if (const int descriptor = write_end.load(); descriptor >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(descriptor, &kInterrupt, 1);
  }
  errno = saved;
}

void SetHandler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace

InterruptHandler::InterruptHandler(std::function<void(int)> on_interrupt) {
  int ends[2];
  MAXKERNEL_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  read_end_ = ends[0];
  write_end = ends[1];
  thread_ = std::thread([this, on_interrupt = std::move(on_interrupt)] {
    int count = 0;
    char signal = 0;
    while (true) {
      const ssize_t size = ::read(read_end_, &signal, 1);
      if (size < 0 && errno == EINTR) continue;
      if (size != 1 || signal == kEnd) return;
      on_interrupt(++count);
    }
  });
  SetHandler(OnSignal);
}

InterruptHandler::~InterruptHandler() {
  SetHandler(SIG_DFL);
  const int descriptor = write_end.exchange(-1);
  [[maybe_unused]] const ssize_t written = ::write(descriptor, &kEnd, 1);
  thread_.join();
  ::close(descriptor);
  ::close(read_end_);
}

}  // namespace maxkernel
