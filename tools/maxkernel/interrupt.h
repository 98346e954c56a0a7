#ifndef MAXKERNEL_TOOLS_MAXKERNEL_INTERRUPT_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_INTERRUPT_H_

#include <functional>
#include <thread>

namespace maxkernel {

// Calls `on_interrupt(n)` on a thread of its own for the n-th SIGINT (from 1). One object at a time: signals belong to the process.
class InterruptHandler {
 public:
  explicit InterruptHandler(std::function<void(int)> on_interrupt);
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

 private:
  int read_end_ = -1;
  std::thread thread_;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_INTERRUPT_H_
