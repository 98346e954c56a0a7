#ifndef MAXKERNEL_LIB_LLM_HTTP_TRANSPORT_H_
#define MAXKERNEL_LIB_LLM_HTTP_TRANSPORT_H_

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/internal/mutex.h"

namespace maxkernel::llm {

struct HttpPost {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  enum class Proxy { kFromEnvironment, kNone };  // http_proxy and its kin, or none whatever they say
  Proxy proxy = Proxy::kFromEnvironment;
  absl::Duration connect_timeout = absl::Seconds(10);
  std::size_t maximum_body = 64 << 20;   // bytes of an answer
};

// What is known of an answer once its header is complete.
struct HttpHeader {
  int status = 0;
  std::string content_type;
  std::string retry_after;
  std::string retry_after_ms;
  std::string should_retry;   // "true", "false" or empty
  std::string request_id;
};

// How a transfer ended.
struct HttpEnd {
  enum class Kind { kComplete, kFailed, kTooLarge };
  Kind kind = Kind::kComplete;
  int curl_code = 0;
  std::string message;  // libcurl's words for the code; never a header or a body
};

class HttpTransport;

// One POST in flight. Used by one thread; destroying it abandons the transfer at once.
class HttpExchange {
 public:
  enum class Got { kBytes, kEnd, kTimeout, kStopped };

  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // Waits for more of the body, at most `timeout`. kBytes: *bytes holds what has arrived since the last call.
  Got Read(absl::Duration timeout, std::string* bytes);
  // After kBytes or kEnd.
  HttpHeader header() const;
  // After kEnd.
  HttpEnd end() const;

 private:
  friend class HttpTransport;
  struct Transfer;
  HttpExchange(HttpTransport& transport, std::shared_ptr<Transfer> transfer, std::stop_token stop);

  struct WakeOnStop {
    Transfer* transfer;
    void operator()() const;
  };
  HttpTransport& transport_;
  const std::shared_ptr<Transfer> transfer_;
  std::stop_callback<WakeOnStop> on_stop_;
};

// All transfers of one client, on one thread that owns a libcurl multi handle; it only moves bytes, everything else happens on the
// caller's thread. Certificates are always verified, redirects are never followed: a key must not travel to another host.
// Thread-safe. Must outlive its exchanges.
class HttpTransport {
 public:
  static absl::StatusOr<std::unique_ptr<HttpTransport>> Create();
  ~HttpTransport();

  std::unique_ptr<HttpExchange> Start(HttpPost post, std::stop_token stop);

 private:
  friend class HttpExchange;
  struct Loop;
  struct Command {
    enum class Kind { kAdd, kRemove };
    Kind kind;
    std::shared_ptr<HttpExchange::Transfer> transfer;
  };

  explicit HttpTransport(void* multi);
  void Submit(Command command);
  void Run();

  void* const multi_;  // CURLM; the thread's own, but for wake-ups
  internal::Mutex mutex_;
  std::vector<Command> commands_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_HTTP_TRANSPORT_H_
