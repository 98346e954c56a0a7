#include "lib/eval/daemon/listen_address.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace maxkernel::eval {
namespace {

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" || (absl::StartsWith(host, "127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

}  // namespace

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text) {
  if (absl::StartsWith(text, "unix:")) {
    if (text.size() == 5) return absl::InvalidArgumentError("listen address 'unix:': expected a path after it");
    return ListenAddress{text, "", true};
  }
  const std::size_t colon = text.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("listen address '", text, "': expected HOST:PORT (port 0: any free one) or unix:PATH"));
  }
  const std::string host = text.substr(0, colon);
  if (!IsLoopback(host)) {
    return absl::InvalidArgumentError(absl::StrCat("listen address '", text, "': refused, since anyone who reaches it could run code; ",
                                                   "expected a loopback address such as 127.0.0.1:4000, or unix:PATH"));
  }
  return ListenAddress{text, host, false};
}

}  // namespace maxkernel::eval
