#ifndef MAXKERNEL_LIB_EVAL_WIRE_ADDRESS_PROBE_H_
#define MAXKERNEL_LIB_EVAL_WIRE_ADDRESS_PROBE_H_

#include <string>

namespace maxkernel::eval {

// Whether anything accepts connections at HOST:PORT or unix:PATH. Waits two seconds at most.
bool SomethingListens(const std::string& address);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_WIRE_ADDRESS_PROBE_H_
