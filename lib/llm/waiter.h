#ifndef MAXKERNEL_LIB_LLM_WAITER_H_
#define MAXKERNEL_LIB_LLM_WAITER_H_

#include <memory>
#include <stop_token>

#include "absl/time/time.h"

namespace maxkernel::llm {

// Passes time; a test's waiter moves its virtual clock instead.
// Thread-safe.
class Waiter {
 public:
  virtual ~Waiter() = default;
  // False if it was stopped first.
  virtual bool Wait(absl::Duration duration, const std::stop_token& stop) = 0;
};

std::unique_ptr<Waiter> MakeSystemWaiter();

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_WAITER_H_
