#ifndef MAXKERNEL_LIB_STORE_JSON_DOCUMENT_H_
#define MAXKERNEL_LIB_STORE_JSON_DOCUMENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace maxkernel::store {

// A JSON text (RFC 8259) as a flat list of tokens that point into it. A replay reads hundreds of thousands of small objects; a tree of
// heap-allocated values per object costs several times as much as everything else (docs/adr/0008-json-events.md).
// The text must outlive the document.
class JsonDocument {
 public:
  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

  struct Token {
    Kind kind = Kind::kNull;
    bool escaped = false;     // a string with backslashes in it
    std::uint32_t end = 0;    // index of the token after this value
    std::string_view text;    // a number's or string's own text, without quotes
  };

  // InvalidArgument with the byte offset of what is wrong.
  static absl::StatusOr<JsonDocument> Parse(std::string_view text);

  // Token 0 is the whole. The members of an object are its keys and values in turn, those of an array its elements.
  const Token& token(std::uint32_t index) const { return tokens_[index]; }

  // A string's value.
  std::string Unescape(std::uint32_t index) const;
  // Whether a string's value is `text`.
  bool Equals(std::uint32_t index, std::string_view text) const;

 private:
  std::vector<Token> tokens_;
};

// "a number", "an object", ...: for error messages.
std::string_view Describe(JsonDocument::Kind kind);

}  // namespace maxkernel::store

#endif  // MAXKERNEL_LIB_STORE_JSON_DOCUMENT_H_
