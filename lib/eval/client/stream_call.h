#ifndef MAXKERNEL_LIB_EVAL_CLIENT_STREAM_CALL_H_
#define MAXKERNEL_LIB_EVAL_CLIENT_STREAM_CALL_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/eval/client/daemon_channel.h"
#include "lib/eval/wire/status_conversion.h"

namespace maxkernel::eval {

// "queued at position 3", "comparing square"; empty for an event that is nothing to tell.
template <typename Event>
std::string Describe(const Event& event) {
  if (event.has_queued()) return absl::StrCat("queued at position ", event.queued().position());
  if (event.has_started()) return "started";
  if (!event.has_progress()) return "";
  const v1::Progress& progress = event.progress();
  return progress.case_name().empty() ? progress.message() : absl::StrCat(progress.message(), " ", progress.case_name());
}

struct StreamCallArgs {
  std::string key;
  std::stop_token stop;
  absl::Time deadline = absl::InfiniteFuture();
  std::function<void(std::string_view)> progress;  // may be empty
};

// Between two attempts to take a stream up again; doubled each time.
inline constexpr absl::Duration kFirstPause = absl::Milliseconds(250);
inline constexpr absl::Duration kLongestPause = absl::Seconds(4);
// A stream that lasted this long was no failed attempt.
inline constexpr absl::Duration kGoodStream = absl::Seconds(10);

// Reads a stream of events up to the one that has the answer. A stream that breaks is taken up again under its key, so that the work
// goes on where it was; one that the daemon itself ended is over. Blocks.
// `open` starts a call: (grpc::ClientContext*) -> std::unique_ptr<grpc::ClientReader<Event>>.
template <typename Event, typename Open>
absl::StatusOr<Event> StreamToAnswer(DaemonChannel& channel, const StreamCallArgs& args, Open open) {
  absl::Duration pause = kFirstPause;
  int attempts_left = channel.options().reattach_attempts;
  bool heard = false;  // so that it is a daemon, whatever happens later
  while (true) {
    const absl::Time start = absl::Now();
    grpc::ClientContext context;
    if (args.deadline != absl::InfiniteFuture()) context.set_deadline(absl::ToChronoTime(args.deadline));
    std::stop_callback on_stop(args.stop, [&context] { context.TryCancel(); });
    auto reader = open(&context);
    Event event;
    bool answered = false;
    while (reader->Read(&event)) {
      heard = true;
      if (event.has_finished()) {
        answered = true;
        break;
      }
      const std::string text = Describe(event);
      if (args.progress && !text.empty()) args.progress(text);
    }
    if (answered) {
      // Nothing follows, so that waiting for the stream's end would only cost time.
      context.TryCancel();
      reader->Finish();
      return event;
    }
    const absl::Status status = FromGrpc(reader->Finish());
    if (args.stop.stop_requested()) {
      channel.Cancel(args.key);
      return absl::CancelledError("the evaluation was cancelled");
    }
    if (absl::IsDeadlineExceeded(status) || absl::Now() >= args.deadline) {
      channel.Cancel(args.key);
      return absl::DeadlineExceededError(absl::StrCat("evaluation daemon at ", channel.options().address, ": no answer before the deadline"));
    }
    if (IsFromDaemon(context)) {
      if (status.ok()) return absl::InternalError("the evaluation daemon ended the stream without an answer");
      return status;
    }
    if (absl::Now() - start > kGoodStream) {
      attempts_left = channel.options().reattach_attempts;
      pause = kFirstPause;
    }
    if (attempts_left-- <= 0) {
      if (!heard) return channel.Explain(status);
      return absl::UnavailableError(absl::StrCat("evaluation daemon at ", channel.options().address, ": the connection broke again and again (",
                                                 std::string(status.message()), ")"));
    }
    channel.AwaitConnection(pause, args.stop);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_CLIENT_STREAM_CALL_H_
