#ifndef MAXKERNEL_TESTS_UNIT_LLM_SCRIPTED_SERVER_H_
#define MAXKERNEL_TESTS_UNIT_LLM_SCRIPTED_SERVER_H_

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "maxkernel/internal/mutex.h"

namespace maxkernel::llm {

// An HTTP/1.1 server on a free loopback port that says exactly the given bytes, one script per connection, in order. The
// last script serves all further connections.
class ScriptedServer {
 public:
  struct Step {
    std::string bytes;
    std::chrono::milliseconds pause{0};  // before the bytes
  };
  struct Script {
    std::vector<Step> steps;
    enum class End { kClose, kReset, kHold } end = End::kClose;  // kHold: says nothing more until the client goes
  };

  explicit ScriptedServer(std::vector<Script> scripts);
  ~ScriptedServer();

  std::string base_url() const;
  // What clients sent, header and body, one entry a connection.
  std::vector<std::string> requests() const;
  // Whether a client went away while its script held; waits for it up to a second.
  bool SawClientLeave();

 private:
  void Run();
  void Serve(int connection, const Script& script);

  const std::vector<Script> scripts_;
  int listener_ = -1;
  int port_ = 0;
  mutable internal::Mutex mutex_;
  internal::ConditionVariable changed_;
  std::vector<std::string> requests_ ABSL_GUARDED_BY(mutex_);
  bool client_left_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> connections_;  // of the accepting thread, and of the destructor after it
  std::thread thread_;
};

// A complete answer with this header line and body.
std::string HttpAnswer(const std::string& status, const std::string& headers, const std::string& body);
// The header of an event stream that ends with the connection.
std::string StreamHeader();
// "data: {...}\n\n" with a piece of text.
std::string TextEvent(const std::string& text);
// The end of an answer: finish reason, usage, [DONE].
std::string EndEvents(const std::string& finish_reason = "stop");

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_TESTS_UNIT_LLM_SCRIPTED_SERVER_H_
