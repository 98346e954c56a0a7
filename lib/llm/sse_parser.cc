#include "lib/llm/sse_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace maxkernel::llm {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view TrimLeadingBlanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

}  // namespace

absl::Status SseParser::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (after_carriage_return_) {
      after_carriage_return_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    if (absl::Status status = AppendToLine(bytes.substr(0, end)); !status.ok()) return status;
    if (end == std::string_view::npos) break;
    after_carriage_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (absl::Status status = EndLine(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::optional<SseEvent> SseParser::Finish() {
  if (!line_.empty()) (void)EndLine();
  if (!has_data_) return std::nullopt;
  has_data_ = false;
  return std::move(event_);
}

absl::Status SseParser::AppendToLine(std::string_view bytes) {
  if (line_.size() + bytes.size() > kMaximumLine) {
    return absl::OutOfRangeError(absl::StrCat("a line of the event stream is longer than ", kMaximumLine, " bytes"));
  }
  line_.append(bytes);
  return absl::OkStatus();
}

absl::Status SseParser::EndLine() {
  std::string_view line = line_;
  if (std::exchange(at_start_, false) && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  absl::Status status;
  if (line.empty()) {
    Dispatch();
  } else {
    status = TakeField(line);
  }
  line_.clear();
  return status;
}

absl::Status SseParser::TakeField(std::string_view line) {
  if (line.front() == ':') return absl::OkStatus();
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);

  if (field == "data") {
    if (event_.data.size() + value.size() + 1 > kMaximumEvent) {
      return absl::OutOfRangeError(absl::StrCat("an event of the stream is longer than ", kMaximumEvent, " bytes"));
    }
    if (has_data_) event_.data.push_back('\n');
    event_.data.append(value);
    has_data_ = true;
  } else if (field == "event") {
    event_.name.assign(value);
  } else if (field == "error" && TrimLeadingBlanks(value).starts_with('{')) {
    sink_(SseEvent{.name = "error", .data = std::string(value)});
  } else if (field != "id" && field != "retry") {
    const std::size_t room = kMaximumStray - std::min(kMaximumStray, stray_.size());
    stray_.append(line.substr(0, room));
    if (room > line.size()) stray_.push_back('\n');
  }
  return absl::OkStatus();
}

void SseParser::Dispatch() {
  const std::string_view data = TrimLeadingBlanks(event_.data);
  if (has_data_ && !data.empty() && data.front() != ':') sink_(event_);
  event_ = SseEvent();
  has_data_ = false;
}

}  // namespace maxkernel::llm
