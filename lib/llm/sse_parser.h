#ifndef MAXKERNEL_LIB_LLM_SSE_PARSER_H_
#define MAXKERNEL_LIB_LLM_SSE_PARSER_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace maxkernel::llm {

struct SseEvent {
  std::string name;  // of the "event" field; empty if there is none
  std::string data;  // "data" lines joined by line feeds; never empty
};

// Splits a byte stream into server-sent events (WHATWG HTML, section 9.2.6), whatever the sizes of the pieces it arrives in. Looks at
// bytes only, so a character cut in two by the network stays whole. Beyond the standard:
//  - "error: {...}" is an event named "error": older llama.cpp servers write failures that way;
//  - data that starts with ':' is dropped: gateways wrap comments ("data: : PROCESSING");
//  - lines that are no field at all are kept, up to a limit, in stray(): some services answer a stream request with plain JSON.
// Thread-compatible. After an error or Finish, Feed must not be called.
class SseParser {
 public:
  using Sink = std::function<void(const SseEvent&)>;
  static constexpr std::size_t kMaximumLine = 8 << 20;
  static constexpr std::size_t kMaximumEvent = 16 << 20;
  static constexpr std::size_t kMaximumStray = 64 << 10;

  explicit SseParser(Sink sink) : sink_(std::move(sink)) {}

  // OutOfRange for a line or an event over the limit.
  absl::Status Feed(std::string_view bytes);
  // The stream is over: what it left unfinished, if anything. The caller decides whether that can be used.
  std::optional<SseEvent> Finish();

  const std::string& stray() const { return stray_; }

 private:
  absl::Status AppendToLine(std::string_view bytes);
  absl::Status EndLine();
  absl::Status TakeField(std::string_view line);
  void Dispatch();

  Sink sink_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool at_start_ = true;
  bool after_carriage_return_ = false;
  std::string stray_;
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_SSE_PARSER_H_
