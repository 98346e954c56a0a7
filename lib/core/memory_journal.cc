#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "maxkernel/internal/mutex.h"
#include "maxkernel/journal.h"

namespace maxkernel {
namespace {

class MemoryReplyLog final : public ReplyLog {
 public:
  absl::StatusOr<std::string> Find(std::string_view key) override {
    internal::MutexLock lock(mutex_);
    const auto found = replies_.find(key);
    if (found == replies_.end()) return absl::NotFoundError(absl::StrCat("no reply under '", std::string(key), "'"));
    return found->second;
  }

  absl::Status Record(std::string_view key, std::string_view reply) override {
    internal::MutexLock lock(mutex_);
    replies_.emplace(key, reply);
    return absl::OkStatus();
  }

 private:
  internal::Mutex mutex_;
  std::map<std::string, std::string, std::less<>> replies_ ABSL_GUARDED_BY(mutex_);
};

class MemoryJournal final : public Journal {
 public:
  absl::Status Append(std::span<const Event> events) override {
    std::uint64_t expected = events_.size() + 1;
    for (const Event& event : events) {
      if (ToNumber(event.sequence) != expected) {
        return absl::InvalidArgumentError(
            absl::StrCat("journal: event has sequence ", ToNumber(event.sequence), "; expected ", expected));
      }
      ++expected;
    }
    events_.insert(events_.end(), events.begin(), events.end());
    return absl::OkStatus();
  }

  absl::Status ForEach(const std::function<absl::Status(const Event&)>& visit) override {
    // By index: a visitor may append.
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Event event = events_[i];
      if (absl::Status status = visit(event); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  ReplyLog& replies() override { return replies_; }

 private:
  std::vector<Event> events_;
  MemoryReplyLog replies_;
};

}  // namespace

std::unique_ptr<Journal> MakeMemoryJournal() { return std::make_unique<MemoryJournal>(); }

}  // namespace maxkernel
