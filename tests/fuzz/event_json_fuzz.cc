// Text taken for JSON and for an event. The reader agrees with an independent parser on what is JSON, and what it makes of an event is
// written and read again without change.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "lib/store/json_document.h"
#include "maxkernel/internal/check.h"
#include "maxkernel/store/event_json.h"

namespace {

using namespace maxkernel;

absl::StatusOr<std::shared_ptr<const Candidate>> AnyCandidate(const std::string& hash) {
  return std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", "hash = '" + hash + "'\n"));
}

nlohmann::json Tree(const store::JsonDocument& document, std::uint32_t index) {
  using Kind = store::JsonDocument::Kind;
  const store::JsonDocument::Token& token = document.token(index);
  switch (token.kind) {
    case Kind::kNull:
      return nullptr;
    case Kind::kFalse:
    case Kind::kTrue:
      return token.kind == Kind::kTrue;
    case Kind::kNumber:
      return nlohmann::json::parse(token.text);
    case Kind::kString:
      return document.Unescape(index);
    case Kind::kArray: {
      nlohmann::json array = nlohmann::json::array();
      for (std::uint32_t i = index + 1; i != token.end; i = document.token(i).end) array.push_back(Tree(document, i));
      return array;
    }
    case Kind::kObject: {
      nlohmann::json object = nlohmann::json::object();
      for (std::uint32_t i = index + 1; i != token.end; i = document.token(i + 1).end) object[document.Unescape(i)] = Tree(document, i + 1);
      return object;
    }
  }
  return nullptr;
}

// Lone surrogates stand for bytes that are not UTF-8; a number beyond a double's range is JSON, but the other parser refuses it.
bool HasWhatOnlyWeAccept(const store::JsonDocument& document, std::string_view text) {
  if (text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos) return true;
  for (std::uint32_t i = 0; i < document.token(0).end; ++i) {
    const store::JsonDocument::Token& token = document.token(i);
    double number = 0;
    if (token.kind == store::JsonDocument::Kind::kNumber &&
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), number).ec == std::errc::result_out_of_range) {
      return true;
    }
  }
  return false;
}

bool IsDeep(std::string_view text) { return std::count(text.begin(), text.end(), '[') + std::count(text.begin(), text.end(), '{') > 100; }

void CompareParsers(std::string_view text) {
  // The other parser skips a byte order mark and takes a zero byte for the end.
  if (text.substr(0, 3) == "\xEF\xBB\xBF" || text.find('\0') != std::string_view::npos) return;
  const absl::StatusOr<store::JsonDocument> ours = store::JsonDocument::Parse(text);
  const nlohmann::json theirs = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (ours.ok() && !theirs.is_discarded()) {
    MAXKERNEL_CHECK(Tree(*ours, 0) == theirs);
  } else if (ours.ok()) {
    MAXKERNEL_CHECK(HasWhatOnlyWeAccept(*ours, text));
  } else {
    MAXKERNEL_CHECK(theirs.is_discarded() || IsDeep(text));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CompareParsers(text);
  const absl::StatusOr<Event> event = EventFromJson(text, AnyCandidate);
  if (!event.ok()) {
    MAXKERNEL_CHECK(!event.status().message().empty());
    return 0;
  }
  if (std::holds_alternative<NodeAdded>(event->body)) return 0;  // its hash is not that of the stand-in
  const std::string json = EventToJson(*event);
  const absl::StatusOr<Event> again = EventFromJson(json, AnyCandidate);
  MAXKERNEL_CHECK(again.ok());
  MAXKERNEL_CHECK(EventToJson(*again) == json);
  return 0;
}
