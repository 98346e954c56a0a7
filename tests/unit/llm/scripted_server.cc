#include "tests/unit/llm/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "maxkernel/internal/check.h"
#include "nlohmann/json.hpp"

namespace maxkernel::llm {
namespace {

bool SendAll(int connection, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

std::string ReadRequest(int connection) {
  std::string request;
  char buffer[16384];
  for (;;) {
    const std::size_t header_end = request.find("\r\n\r\n");
    if (header_end != std::string::npos) {
      const std::size_t field = request.find("Content-Length: ");
      const std::size_t length = field < header_end ? std::strtoul(request.c_str() + field + 16, nullptr, 10) : 0;
      if (request.size() >= header_end + 4 + length) return request;
    }
    const ssize_t count = recv(connection, buffer, sizeof(buffer), 0);
    if (count <= 0) return request;
    request.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

ScriptedServer::ScriptedServer(std::vector<Script> scripts) : scripts_(std::move(scripts)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  MAXKERNEL_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), length) == 0);
  MAXKERNEL_CHECK(listen(listener_, 64) == 0);
  MAXKERNEL_CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

ScriptedServer::~ScriptedServer() {
  {
    internal::MutexLock lock(mutex_);
    stopping_ = true;
  }
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  for (std::thread& connection : connections_) connection.join();
  close(listener_);
}

std::string ScriptedServer::base_url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }

std::vector<std::string> ScriptedServer::requests() const {
  internal::MutexLock lock(mutex_);
  return requests_;
}

bool ScriptedServer::SawClientLeave() {
  internal::MutexLock lock(mutex_);
  return changed_.WaitFor(mutex_, absl::Seconds(1), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return client_left_; });
}

void ScriptedServer::Run() {
  for (std::size_t index = 0;; ++index) {
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    const Script& script = scripts_[std::min(index, scripts_.size() - 1)];
    connections_.emplace_back([this, connection, &script] { Serve(connection, script); });
  }
}

void ScriptedServer::Serve(int connection, const Script& script) {
  std::string request = ReadRequest(connection);
  {
    internal::MutexLock lock(mutex_);
    requests_.push_back(std::move(request));
  }
  for (const Step& step : script.steps) {
    if (step.pause.count() > 0) std::this_thread::sleep_for(step.pause);
    if (!SendAll(connection, step.bytes)) break;
  }
  if (script.end == Script::End::kHold) {
    for (;;) {
      pollfd poll_for{connection, POLLIN, 0};
      char byte;
      if (poll(&poll_for, 1, 5) > 0 && recv(connection, &byte, 1, 0) <= 0) {
        internal::MutexLock lock(mutex_);
        client_left_ = true;
        changed_.NotifyAll();
        break;
      }
      internal::MutexLock lock(mutex_);
      if (stopping_) break;
    }
  }
  if (script.end == Script::End::kReset) {
    const linger abort{1, 0};
    setsockopt(connection, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
  }
  close(connection);
}

std::string HttpAnswer(const std::string& status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

std::string StreamHeader() { return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"; }

std::string TextEvent(const std::string& text) {
  const nlohmann::json chunk{{"model", "mock-1"}, {"choices", {{{"index", 0}, {"delta", {{"content", text}}}, {"finish_reason", nullptr}}}}};
  return "data: " + chunk.dump() + "\n\n";
}

std::string EndEvents(const std::string& finish_reason) {
  return "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" + finish_reason +
         "\"}]}\n\n"
         "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120,"
         "\"prompt_tokens_details\":{\"cached_tokens\":40}}}\n\n"
         "data: [DONE]\n\n";
}

}  // namespace maxkernel::llm
