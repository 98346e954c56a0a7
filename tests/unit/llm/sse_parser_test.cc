#include "lib/llm/sse_parser.h"

#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace maxkernel::llm {
namespace {

using namespace std::string_literals;

struct Parsed {
  std::vector<std::string> events;  // "name|data"
  std::string unfinished;
  std::string stray;
  absl::Status status;

  bool operator==(const Parsed& other) const {
    return events == other.events && unfinished == other.unfinished && stray == other.stray && status == other.status;
  }
};

std::string Show(const SseEvent& event) { return event.name.empty() ? event.data : event.name + "|" + event.data; }

Parsed ParsePieces(const std::vector<std::string>& pieces) {
  Parsed parsed;
  SseParser parser([&](const SseEvent& event) { parsed.events.push_back(Show(event)); });
  for (const std::string& piece : pieces) {
    parsed.status = parser.Feed(piece);
    if (!parsed.status.ok()) return parsed;
  }
  if (const auto rest = parser.Finish(); rest.has_value()) parsed.unfinished = Show(*rest);
  parsed.stray = parser.stray();
  return parsed;
}

// Whole, byte by byte and cut at every single position: all must agree.
Parsed ParseAllWays(const std::string& bytes) {
  const Parsed whole = ParsePieces({bytes});
  std::vector<std::string> single;
  for (const char byte : bytes) single.emplace_back(1, byte);
  CHECK(ParsePieces(single) == whole);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    INFO("cut at " << cut);
    CHECK(ParsePieces({bytes.substr(0, cut), bytes.substr(cut)}) == whole);
  }
  return whole;
}

using Strings = std::vector<std::string>;

TEST_CASE("an event stream is split the same way however it is cut") {
  struct Vector {
    const char* what;
    std::string bytes;
    Strings events;
    std::string unfinished;
  };
  const std::vector<Vector> vectors = {
      {"comment", ": keepalive\n\ndata: {}\n\n", {"{}"}, ""},
      {"CRLF", "data: {\"a\":1}\r\n\r\n", {"{\"a\":1}"}, ""},
      {"CR alone", "data: x\r\r", {"x"}, ""},
      {"mixed line ends", "data: a\r\n\ndata: b\n\r\n", {"a", "b"}, ""},
      {"multi-byte characters", "data: {\"t\":\"\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9\"}\n\n", {"{\"t\":\"\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9\"}"}, ""},
      {"two data lines", "data: {\ndata: \"a\":1}\n\n", {"{\n\"a\":1}"}, ""},
      {"two data lines with CRLF", "data: {\r\ndata: \"a\":1}\r\n\r\n", {"{\n\"a\":1}"}, ""},
      {"two data lines with CR", "data: a\rdata: b\r\r", {"a\nb"}, ""},
      {"no space", "data:{\"a\":1}\n\n", {"{\"a\":1}"}, ""},
      {"two spaces", "data:  {\"a\":1}\n\n", {" {\"a\":1}"}, ""},
      {"done", "data: [DONE]\n\ndata:[DONE]\n\ndata: [DONE] \n\n", {"[DONE]", "[DONE]", "[DONE] "}, ""},
      {"done at the end of file", "data: [DONE]", {}, "[DONE]"},
      {"byte order mark", "\xEF\xBB\xBF" "data: {}\n\n", {"{}"}, ""},
      {"later byte order mark is no field", "data: a\n\n\xEF\xBB\xBF" "data: b\n\n", {"a"}, ""},
      {"Unicode line separators are text", "data: {\"x\":\"\xE2\x80\xA8 \xC2\x85\"}\n\n", {"{\"x\":\"\xE2\x80\xA8 \xC2\x85\"}"}, ""},
      {"no blank line at the end", "data: {}", {}, "{}"},
      {"cut JSON", "data: {\"a\":", {}, "{\"a\":"},
      {"named event", "event: error\ndata: {\"m\":1}\n\n", {"error|{\"m\":1}"}, ""},
      {"error field of old llama.cpp", "error: {\"code\":500}\n\n", {"error|{\"code\":500}"}, ""},
      {"mangled comment", "data: : PROCESSING\n\ndata: {}\n\n", {"{}"}, ""},
      {"ping with data", "event: ping\ndata: {\"type\":\"ping\"}\n\n", {"ping|{\"type\":\"ping\"}"}, ""},
      {"events without data", "event: ping\n\ndata\n\ndata:\n\n", {}, ""},
      {"a name does not outlive its event", "event: ping\n\ndata: x\n\n", {"x"}, ""},
      {"id and retry", "id: 1\nretry: 10\ndata: {}\n\n", {"{}"}, ""},
      {"NUL is data", "data: a\0b\n\n"s, {"a\0b"s}, ""},
      {"nothing", "", {}, ""},
  };
  for (const Vector& vector : vectors) {
    INFO(vector.what);
    const Parsed parsed = ParseAllWays(vector.bytes);
    CHECK(parsed.status.ok());
    CHECK(parsed.events == vector.events);
    CHECK(parsed.unfinished == vector.unfinished);
  }
}

TEST_CASE("what is no event stream is kept for the error message") {
  const Parsed parsed = ParseAllWays("{\"error\": {\n  \"code\": 429\n}}\n");
  CHECK(parsed.events.empty());
  CHECK(parsed.stray == "{\"error\": {\n  \"code\": 429\n}}\n");
}

TEST_CASE("stray text is bounded") {
  SseParser parser([](const SseEvent&) {});
  for (int i = 0; i < 100; ++i) REQUIRE(parser.Feed(std::string(10'000, 'x') + "\n").ok());
  CHECK(parser.stray().size() <= SseParser::kMaximumStray);
}

TEST_CASE("a long event is read in linear time and an endless line is an error") {
  std::size_t size = 0;
  SseParser parser([&](const SseEvent& event) { size = event.data.size(); });
  REQUIRE(parser.Feed("data: ").ok());
  const std::string piece(16 << 10, 'a');
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < 64; ++i) REQUIRE(parser.Feed(piece).ok());
  REQUIRE(parser.Feed("\n\n").ok());
  CHECK(size == std::size_t{1} << 20);
  CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(5));

  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) status = parser.Feed(piece);
  CHECK(absl::IsOutOfRange(status));
}

TEST_CASE("an endless event is an error") {
  SseParser parser([](const SseEvent&) {});
  const std::string line = "data: " + std::string(1 << 20, 'a') + "\n";
  absl::Status status;
  for (int i = 0; i < 20 && status.ok(); ++i) status = parser.Feed(line);
  CHECK(absl::IsOutOfRange(status));
}

TEST_CASE("comments take no memory") {
  SseParser parser([](const SseEvent&) { FAIL("a comment is no event"); });
  for (int i = 0; i < 100'000; ++i) REQUIRE(parser.Feed(": keepalive\n").ok());
  CHECK(parser.stray().empty());
  CHECK_FALSE(parser.Finish().has_value());
}

}  // namespace
}  // namespace maxkernel::llm
