// Not part of the API.
#ifndef MAXKERNEL_INTERNAL_CHECK_H_
#define MAXKERNEL_INTERNAL_CHECK_H_

namespace maxkernel::internal {

// Prints "file:line: check failed: expression" to standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* expression);

}  // namespace maxkernel::internal

// For invariants of our own only: never for input, never for the world.
#define MAXKERNEL_CHECK(condition)                                                              \
  do {                                                                                          \
    if (!(condition)) ::maxkernel::internal::CheckFailed(__FILE__, __LINE__, #condition);       \
  } while (false)

#endif  // MAXKERNEL_INTERNAL_CHECK_H_
