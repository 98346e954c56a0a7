#include "lib/llm/http_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "maxkernel/internal/check.h"

namespace maxkernel::llm {
namespace {

constexpr std::size_t kMaximumHeader = 64 << 10;
constexpr int kPollMilliseconds = 1000;  // a bound on sleep; every command wakes the loop

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool InitialiseCurl() {
  static const bool initialised = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return initialised;
}

}  // namespace

struct HttpExchange::Transfer {
  explicit Transfer(HttpPost given) : post(std::move(given)) {}

  const HttpPost post;
  // The loop thread's own.
  CURL* easy = nullptr;
  curl_slist* header_list = nullptr;
  std::size_t header_bytes = 0;

  internal::Mutex mutex;
  internal::ConditionVariable changed;
  HttpHeader header ABSL_GUARDED_BY(mutex);
  std::string unread ABSL_GUARDED_BY(mutex);
  std::size_t received ABSL_GUARDED_BY(mutex) = 0;
  bool too_large ABSL_GUARDED_BY(mutex) = false;
  bool ended ABSL_GUARDED_BY(mutex) = false;
  bool stopped ABSL_GUARDED_BY(mutex) = false;
  HttpEnd end ABSL_GUARDED_BY(mutex);

  // False: give the transfer up.
  bool TakeBody(std::string_view bytes) {
    internal::MutexLock lock(mutex);
    received += bytes.size();
    too_large = too_large || received > post.maximum_body;
    if (too_large) return false;
    unread.append(bytes);
    changed.NotifyAll();
    return true;
  }

  bool TakeHeaderLine(std::string_view line) {
    internal::MutexLock lock(mutex);
    header_bytes += line.size();
    if (header_bytes > kMaximumHeader) {
      too_large = true;
      return false;
    }
    if (line.starts_with("HTTP/")) {  // after 1xx and CONNECT a new header begins
      header = HttpHeader();
      const std::size_t blank = line.find(' ');
      if (blank != std::string_view::npos) header.status = std::atoi(std::string(line.substr(blank + 1, 3)).c_str());
      return true;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return true;
    const std::string_view name = line.substr(0, colon);
    const std::pair<std::string_view, std::string*> kept[] = {{"content-type", &header.content_type},
                                                              {"retry-after", &header.retry_after},
                                                              {"retry-after-ms", &header.retry_after_ms},
                                                              {"x-should-retry", &header.should_retry},
                                                              {"x-request-id", &header.request_id}};
    for (const auto& [known, value] : kept) {
      if (EqualsIgnoreCase(name, known)) value->assign(Trim(line.substr(colon + 1)));
    }
    return true;
  }

  void Finish(CURLcode code) {
    internal::MutexLock lock(mutex);
    if (ended) return;
    ended = true;
    end.curl_code = code;
    if (too_large) {
      end.kind = HttpEnd::Kind::kTooLarge;
    } else if (code != CURLE_OK) {
      end.kind = HttpEnd::Kind::kFailed;
      end.message = curl_easy_strerror(code);
    }
    changed.NotifyAll();
  }
};

// What runs on the loop thread.
struct HttpTransport::Loop {
  using Transfer = HttpExchange::Transfer;

  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* user) {
    return static_cast<Transfer*>(user)->TakeBody({data, size * count}) ? size * count : 0;
  }
  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* user) {
    return static_cast<Transfer*>(user)->TakeHeaderLine({data, size * count}) ? size * count : 0;
  }

  void Add(std::shared_ptr<Transfer> transfer) {
    CURL* easy = MakeEasy(*transfer);
    if (easy == nullptr || curl_multi_add_handle(multi, easy) != CURLM_OK) {
      Release(*transfer);
      transfer->Finish(CURLE_FAILED_INIT);
      return;
    }
    running.emplace(easy, std::move(transfer));
  }

  CURL* MakeEasy(Transfer& transfer) {
    const HttpPost& post = transfer.post;
    CURL* easy = transfer.easy = curl_easy_init();
    if (easy == nullptr) return nullptr;
    for (const std::string& header : post.headers) {
      curl_slist* longer = curl_slist_append(transfer.header_list, header.c_str());
      if (longer == nullptr) return nullptr;
      transfer.header_list = longer;
    }
    curl_easy_setopt(easy, CURLOPT_URL, post.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, post.url.starts_with("https:") ? "https" : "http");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.header_list);
    curl_easy_setopt(easy, CURLOPT_HEADEROPT, long{CURLHEADER_SEPARATE});
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, post.body.data());
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_2TLS});
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(post.connect_timeout)));
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 60L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 60L);
    if (post.proxy == HttpPost::Proxy::kNone) curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &OnHeader);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
    return easy;
  }

  static void Release(Transfer& transfer) {
    if (transfer.easy != nullptr) curl_easy_cleanup(std::exchange(transfer.easy, nullptr));
    curl_slist_free_all(std::exchange(transfer.header_list, nullptr));
  }

  void Remove(Transfer& transfer, CURLcode code) {
    if (transfer.easy == nullptr) return;
    CURL* easy = transfer.easy;
    curl_multi_remove_handle(multi, easy);
    Release(transfer);
    transfer.Finish(code);
    running.erase(easy);  // may be the last owner
  }

  void RemoveFinished() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;  // the message is gone once the handle is removed
      const auto found = running.find(message->easy_handle);
      MAXKERNEL_CHECK(found != running.end());
      const std::shared_ptr<Transfer> transfer = found->second;
      Remove(*transfer, code);
    }
  }

  void RemoveAll() {
    while (!running.empty()) {
      const std::shared_ptr<Transfer> transfer = running.begin()->second;
      Remove(*transfer, CURLE_ABORTED_BY_CALLBACK);
    }
  }

  CURLM* multi;
  std::map<CURL*, std::shared_ptr<Transfer>> running;
};

HttpExchange::HttpExchange(HttpTransport& transport, std::shared_ptr<Transfer> transfer, std::stop_token stop)
    : transport_(transport), transfer_(std::move(transfer)), on_stop_(std::move(stop), WakeOnStop{transfer_.get()}) {}

HttpExchange::~HttpExchange() { transport_.Submit({HttpTransport::Command::Kind::kRemove, transfer_}); }

void HttpExchange::WakeOnStop::operator()() const {
  internal::MutexLock lock(transfer->mutex);
  transfer->stopped = true;
  transfer->changed.NotifyAll();
}

HttpExchange::Got HttpExchange::Read(absl::Duration timeout, std::string* bytes) {
  Transfer& transfer = *transfer_;
  internal::MutexLock lock(transfer.mutex);
  transfer.changed.WaitFor(transfer.mutex, std::max(timeout, absl::ZeroDuration()), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return transfer.stopped || transfer.ended || !transfer.unread.empty();
  });
  if (transfer.stopped) return Got::kStopped;
  if (!transfer.unread.empty()) {
    *bytes = std::exchange(transfer.unread, std::string());
    return Got::kBytes;
  }
  return transfer.ended ? Got::kEnd : Got::kTimeout;
}

HttpHeader HttpExchange::header() const {
  internal::MutexLock lock(transfer_->mutex);
  return transfer_->header;
}

HttpEnd HttpExchange::end() const {
  internal::MutexLock lock(transfer_->mutex);
  return transfer_->end;
}

absl::StatusOr<std::unique_ptr<HttpTransport>> HttpTransport::Create() {
  if (!InitialiseCurl()) return absl::InternalError("libcurl cannot be initialised");
  CURLM* multi = curl_multi_init();
  if (multi == nullptr) return absl::InternalError("libcurl has no memory for a multi handle");
  return std::unique_ptr<HttpTransport>(new HttpTransport(multi));
}

HttpTransport::HttpTransport(void* multi) : multi_(multi) {
  thread_ = std::thread([this] { Run(); });
}

HttpTransport::~HttpTransport() {
  {
    internal::MutexLock lock(mutex_);
    stopping_ = true;
  }
  curl_multi_wakeup(static_cast<CURLM*>(multi_));
  thread_.join();
  curl_multi_cleanup(static_cast<CURLM*>(multi_));
}

std::unique_ptr<HttpExchange> HttpTransport::Start(HttpPost post, std::stop_token stop) {
  auto transfer = std::make_shared<HttpExchange::Transfer>(std::move(post));
  std::unique_ptr<HttpExchange> exchange(new HttpExchange(*this, transfer, std::move(stop)));
  Submit({Command::Kind::kAdd, std::move(transfer)});
  return exchange;
}

void HttpTransport::Submit(Command command) {
  {
    internal::MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
  }
  curl_multi_wakeup(static_cast<CURLM*>(multi_));
}

void HttpTransport::Run() {
  Loop loop{static_cast<CURLM*>(multi_), {}};
  for (;;) {
    std::vector<Command> commands;
    {
      internal::MutexLock lock(mutex_);
      if (stopping_) break;
      commands.swap(commands_);
    }
    for (Command& command : commands) {
      if (command.kind == Command::Kind::kAdd) {
        loop.Add(std::move(command.transfer));
      } else {
        loop.Remove(*command.transfer, CURLE_ABORTED_BY_CALLBACK);
      }
    }
    int running = 0;
    curl_multi_perform(loop.multi, &running);
    loop.RemoveFinished();
    curl_multi_poll(loop.multi, nullptr, 0, kPollMilliseconds, nullptr);
  }
  loop.RemoveAll();
}

}  // namespace maxkernel::llm
