#include "lib/llm/retry.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/llm/call_failure.h"
#include "lib/llm/request_key.h"

namespace maxkernel::llm {
namespace {

void Add(const LlmUsage& spent, LlmUsage& total) {
  total.input_tokens += spent.input_tokens;
  total.cached_input_tokens += spent.cached_input_tokens;
  total.output_tokens += spent.output_tokens;
}

absl::Status WithNote(const absl::Status& status, const std::string& note) {
  absl::Status noted(status.code(), absl::StrCat(status.message(), note));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { noted.SetPayload(url, payload); });
  return noted;
}

}  // namespace

absl::StatusOr<LlmReply> RetryDecorator::Generate(const LlmCall& call) {
  KeyedRandom jitter(RequestSeed(call.request), RandomStream::kPropose, calls_.fetch_add(1));
  std::optional<LlmUsage> lost;
  for (std::uint32_t attempt = 0;; ++attempt) {
    absl::StatusOr<LlmReply> reply = inner().Generate(call);
    if (reply.ok()) {
      if (lost.has_value()) {
        Add(*lost, reply->usage);
        reply->usage.reported = false;
      }
      return reply;
    }
    if (const std::optional<LlmUsage> spent = ReadSpentUsage(reply.status()); spent.has_value()) {
      if (!lost.has_value()) lost.emplace();
      Add(*spent, *lost);
    }
    const auto give_up = [&](std::string note) {
      const absl::Status status = WithNote(reply.status(), note);
      return lost.has_value() ? WithSpentUsage(status, *lost) : status;
    };
    const RetryAdvice advice = ReadRetryAdvice(reply.status());
    if (!advice.retry) return give_up("");
    if (attempt >= options_.retries) return give_up(absl::StrCat("; gave up after ", attempt + 1, " attempts"));

    const absl::Duration pause = std::max(advice.at_least, Backoff(attempt, jitter));
    if (clock_.Now() + pause >= call.deadline) return give_up("; no time is left for another attempt");
    if (observer_ != nullptr) observer_->OnRetry(call.request, reply.status(), pause);
    if (!waiter_.Wait(pause, call.stop)) {
      const absl::Status cancelled = absl::CancelledError("cancelled between two attempts");
      return lost.has_value() ? WithSpentUsage(cancelled, *lost) : cancelled;
    }
  }
}

absl::Duration RetryDecorator::Backoff(std::uint32_t attempt, KeyedRandom& jitter) const {
  const std::uint32_t doublings = std::min<std::uint32_t>(attempt, 20);
  return jitter.NextDouble() * std::min(options_.cap, options_.base * (std::int64_t{1} << doublings));
}

}  // namespace maxkernel::llm
