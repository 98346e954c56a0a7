#ifndef MAXKERNEL_TESTS_UNIT_LLM_FAKES_H_
#define MAXKERNEL_TESTS_UNIT_LLM_FAKES_H_

#include <unistd.h>

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "lib/llm/waiter.h"
#include "maxkernel/clock.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/internal/mutex.h"
#include "maxkernel/llm/llm_client.h"

namespace maxkernel::llm {

class VirtualClock : public Clock {
 public:
  absl::Time Now() override {
    internal::MutexLock lock(mutex_);
    return now_;
  }
  void Advance(absl::Duration duration) {
    internal::MutexLock lock(mutex_);
    now_ += duration;
  }

 private:
  internal::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'700'000'000);
};

// Moves the clock in place of waiting.
class VirtualWaiter : public Waiter {
 public:
  explicit VirtualWaiter(VirtualClock& clock) : clock_(clock) {}
  bool Wait(absl::Duration duration, const std::stop_token& stop) override {
    if (stop.stop_requested()) return false;
    waits.push_back(duration);
    clock_.Advance(duration);
    return true;
  }
  std::vector<absl::Duration> waits;

 private:
  VirtualClock& clock_;
};

// Answers in the order given; the last answer serves all further calls.
class FakeClient : public LlmClient {
 public:
  explicit FakeClient(std::vector<absl::StatusOr<LlmReply>> answers) : answers_(answers.begin(), answers.end()) {}

  absl::StatusOr<LlmReply> Generate(const LlmCall& call) override {
    internal::MutexLock lock(mutex_);
    requests.push_back(call.request);
    absl::StatusOr<LlmReply> answer = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    return answer;
  }

  std::vector<LlmRequest> requests;

 private:
  internal::Mutex mutex_;
  std::deque<absl::StatusOr<LlmReply>> answers_;
};

inline LlmReply Reply(std::string text, std::int64_t input = 100, std::int64_t output = 10) {
  return {.text = std::move(text), .model = "fake", .usage = {.input_tokens = input, .cached_input_tokens = 0, .output_tokens = output, .reported = true}};
}

class FakeReplyLog : public ReplyLog {
 public:
  absl::StatusOr<std::string> Find(std::string_view key) override {
    const auto found = replies.find(key);
    if (found == replies.end()) return absl::NotFoundError("none");
    return found->second;
  }
  absl::Status Record(std::string_view key, std::string_view reply) override {
    if (!fault.ok()) return fault;
    replies.emplace(key, reply);
    return absl::OkStatus();
  }
  std::map<std::string, std::string, std::less<>> replies;
  absl::Status fault;
};

// A folder that is removed in the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "llm_test.XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_TESTS_UNIT_LLM_FAKES_H_
