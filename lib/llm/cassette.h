#ifndef MAXKERNEL_LIB_LLM_CASSETTE_H_
#define MAXKERNEL_LIB_LLM_CASSETTE_H_

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/llm/decorator.h"
#include "maxkernel/internal/mutex.h"

namespace maxkernel::llm {

// A file of exchanges, one JSON object a line: {"key", "occurrence", "request", "reply"}. The key is a hash of the request; requests that
// are equal have occurrences 0, 1, ... in the order in which they were answered.
using CassetteReplies = std::map<std::string, std::vector<LlmReply>, std::less<>>;

struct CassetteFile {
  CassetteReplies replies;
  std::size_t intact_bytes = 0;  // what follows is a line that a crash cut short
};

// NotFound if there is no such file; DataLoss with the line's number for a malformed line, unless it is the last and unfinished.
absl::StatusOr<CassetteFile> ReadCassette(const std::filesystem::path& file);

// Answers calls and writes each exchange to the file, durably, before it returns the reply. Adds to a file that exists.
class RecordDecorator : public Decorator {
 public:
  // FailedPrecondition if another process records to the file. `secret` is never written.
  static absl::StatusOr<std::unique_ptr<RecordDecorator>> Open(const std::filesystem::path& file, std::string secret,
                                                               std::unique_ptr<LlmClient> inner);
  ~RecordDecorator() override;

  std::string_view name() const override { return "record"; }
  absl::StatusOr<LlmReply> Generate(const LlmCall& call) override;

 private:
  RecordDecorator(int descriptor, std::string file, std::string secret, std::unique_ptr<LlmClient> inner);
  absl::Status Append(const std::string& line);

  const std::string file_;
  const std::string secret_;
  internal::Mutex mutex_;
  const int descriptor_;
  std::map<std::string, std::size_t> occurrences_ ABSL_GUARDED_BY(mutex_);
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);  // after a failed write nothing more is recorded
};

// Answers from the file alone: NotFound for a request that it does not hold, or does not hold once more.
class ReplayClient : public LlmClient {
 public:
  static absl::StatusOr<std::unique_ptr<ReplayClient>> Open(const std::filesystem::path& file);

  absl::StatusOr<LlmReply> Generate(const LlmCall& call) override;

 private:
  ReplayClient(std::string file, CassetteReplies replies) : file_(std::move(file)), replies_(std::move(replies)) {}

  const std::string file_;
  const CassetteReplies replies_;
  internal::Mutex mutex_;
  std::map<std::string, std::size_t, std::less<>> used_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_CASSETTE_H_
