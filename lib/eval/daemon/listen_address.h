#ifndef MAXKERNEL_LIB_EVAL_DAEMON_LISTEN_ADDRESS_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"

namespace maxkernel::eval {

struct ListenAddress {
  std::string target;  // as gRPC takes it: "127.0.0.1:4000", "unix:/run/evald.sock"
  std::string host;    // "127.0.0.1", "[::1]"; empty for a Unix socket
  bool is_unix = false;
};

// InvalidArgument for anything but loopback and Unix sockets: without encryption and tokens nothing else is safe.
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_LISTEN_ADDRESS_H_
