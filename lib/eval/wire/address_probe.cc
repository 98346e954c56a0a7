#include "lib/eval/wire/address_probe.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"

namespace maxkernel::eval {
namespace {

class Socket {
 public:
  explicit Socket(int family) : descriptor_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  bool Connect(const sockaddr* address, socklen_t size) const {
    const timeval timeout = {2, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    return descriptor_ >= 0 && ::connect(descriptor_, address, size) == 0;
  }

 private:
  const int descriptor_;
};

bool UnixSocketListens(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::copy(path.begin(), path.end(), address.sun_path);
  return Socket(AF_UNIX).Connect(reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace

bool SomethingListens(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) return UnixSocketListens(address.substr(absl::StartsWith(address, "unix://") ? 7 : 5));
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0) return false;
  bool listens = false;
  for (const addrinfo* entry = found; entry != nullptr && !listens; entry = entry->ai_next) {
    listens = Socket(entry->ai_family).Connect(entry->ai_addr, entry->ai_addrlen);
  }
  ::freeaddrinfo(found);
  return listens;
}

}  // namespace maxkernel::eval
