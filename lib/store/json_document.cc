#include "lib/store/json_document.h"

#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "maxkernel/internal/utf8.h"

namespace maxkernel::store {
namespace {

using Kind = JsonDocument::Kind;
using Token = JsonDocument::Token;

constexpr int kDepthLimit = 100;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::optional<unsigned> HexValue(char c) {
  if (IsDigit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<unsigned> FourHexDigits(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  unsigned value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::optional<unsigned> digit = HexValue(text[i]);
    if (!digit.has_value()) return std::nullopt;
    value = value * 16 + *digit;
  }
  return value;
}

bool IsHighSurrogate(unsigned unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool IsLowSurrogate(unsigned unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }
// What JsonWriter makes of a byte that is not UTF-8.
bool IsEscapedByte(unsigned unit) { return unit >= 0xDC80 && unit <= 0xDCFF; }

class Parser {
 public:
  Parser(std::string_view text, std::vector<Token>& tokens) : text_(text), tokens_(tokens) {}

  absl::Status Parse() {
    if (text_.size() > std::numeric_limits<std::uint32_t>::max()) return absl::InvalidArgumentError("JSON text: 4 GiB or more");
    SkipBlanks();
    if (!Value(0)) return Error();
    SkipBlanks();
    if (position_ != text_.size()) {
      expected_ = "the end of the text";
      return Error();
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Error() const {
    return absl::InvalidArgumentError(absl::StrCat("JSON text, byte ", position_, ": expected ", expected_));
  }
  bool Fail(const char* expected) {
    expected_ = expected;
    return false;
  }
  char Peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool Take(char c) {
    if (Peek() != c || position_ == text_.size()) return false;
    ++position_;
    return true;
  }
  void SkipBlanks() {
    while (position_ < text_.size() && IsBlank(text_[position_])) ++position_;
  }
  std::uint32_t Add(Kind kind) {
    Token token;
    token.kind = kind;
    tokens_.push_back(token);
    return static_cast<std::uint32_t>(tokens_.size() - 1);
  }
  void Finish(std::uint32_t index) { tokens_[index].end = static_cast<std::uint32_t>(tokens_.size()); }

  bool Value(int depth) {
    if (depth > kDepthLimit) return Fail("no more than 100 levels");
    switch (Peek()) {
      case '{':
        return Object(depth);
      case '[':
        return Array(depth);
      case '"':
        return String();
      case 't':
        return Word("true", Kind::kTrue);
      case 'f':
        return Word("false", Kind::kFalse);
      case 'n':
        return Word("null", Kind::kNull);
      default:
        return Number();
    }
  }

  bool Object(int depth) {
    const std::uint32_t index = Add(Kind::kObject);
    ++position_;
    SkipBlanks();
    if (!Take('}')) {
      while (true) {
        SkipBlanks();
        if (Peek() != '"') return Fail("a key in quotes");
        if (!String()) return false;
        SkipBlanks();
        if (!Take(':')) return Fail("':'");
        SkipBlanks();
        if (!Value(depth + 1)) return false;
        SkipBlanks();
        if (Take('}')) break;
        if (!Take(',')) return Fail("',' or '}'");
      }
    }
    Finish(index);
    return true;
  }

  bool Array(int depth) {
    const std::uint32_t index = Add(Kind::kArray);
    ++position_;
    SkipBlanks();
    if (!Take(']')) {
      while (true) {
        SkipBlanks();
        if (!Value(depth + 1)) return false;
        SkipBlanks();
        if (Take(']')) break;
        if (!Take(',')) return Fail("',' or ']'");
      }
    }
    Finish(index);
    return true;
  }

  bool Word(std::string_view word, Kind kind) {
    if (text_.substr(position_, word.size()) != word) return Fail("a value");
    position_ += word.size();
    Finish(Add(kind));
    return true;
  }

  bool Digits() {
    if (!IsDigit(Peek())) return Fail("a digit");
    while (IsDigit(Peek())) ++position_;
    return true;
  }

  bool Number() {
    const std::size_t begin = position_;
    Take('-');
    if (!IsDigit(Peek())) return Fail("a value");
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (Peek() == 'e' || Peek() == 'E') {
      ++position_;
      if (!Take('+')) Take('-');
      if (!Digits()) return false;
    }
    const std::uint32_t index = Add(Kind::kNumber);
    tokens_[index].text = text_.substr(begin, position_ - begin);
    Finish(index);
    return true;
  }

  bool String() {
    const std::size_t begin = ++position_;
    bool escaped = false;
    while (true) {
      if (position_ == text_.size()) return Fail("'\"'");
      const auto byte = static_cast<unsigned char>(text_[position_]);
      if (byte == '"') break;
      if (byte < 0x20) return Fail("no control character in a string");
      if (byte == '\\') {
        escaped = true;
        if (!Escape()) return false;
      } else if (byte < 0x80) {
        ++position_;
      } else {
        const std::size_t length = internal::Utf8SequenceLength(text_.substr(position_));
        if (length == 0) return Fail("UTF-8");
        position_ += length;
      }
    }
    const std::uint32_t index = Add(Kind::kString);
    tokens_[index].text = text_.substr(begin, position_ - begin);
    tokens_[index].escaped = escaped;
    ++position_;
    Finish(index);
    return true;
  }

  bool Escape() {
    ++position_;
    const char c = Peek();
    if (c != 'u') {
      if (c == '\0' || std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) return Fail("an escape sequence");
      ++position_;
      return true;
    }
    const std::optional<unsigned> unit = FourHexDigits(text_.substr(position_ + 1));
    if (!unit.has_value()) return Fail("four hexadecimal digits");
    if (IsHighSurrogate(*unit)) {
      if (text_.substr(position_ + 5, 2) != "\\u") return Fail("a surrogate pair");
      const std::optional<unsigned> low = FourHexDigits(text_.substr(position_ + 7));
      if (!low.has_value() || !IsLowSurrogate(*low)) return Fail("a surrogate pair");
      position_ += 11;
      return true;
    }
    if (IsLowSurrogate(*unit) && !IsEscapedByte(*unit)) return Fail("a surrogate pair");
    position_ += 5;
    return true;
  }

  std::string_view text_;
  std::vector<Token>& tokens_;
  std::size_t position_ = 0;
  const char* expected_ = "a value";
};

void AppendUtf8(std::string& out, unsigned code) {
  const auto put = [&](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// Appends what the escape sequence at text[position] stands for and returns the position after it. The text was checked by Parser.
std::size_t AppendEscape(std::string_view text, std::size_t position, std::string& out) {
  const char c = text[position + 1];
  if (c != 'u') {
    constexpr std::string_view kNames = "bfnrt";
    constexpr std::string_view kValues = "\b\f\n\r\t";
    const std::size_t found = kNames.find(c);
    out.push_back(found == std::string_view::npos ? c : kValues[found]);
    return position + 2;
  }
  const unsigned unit = FourHexDigits(text.substr(position + 2)).value_or(0);
  if (IsEscapedByte(unit)) {
    out.push_back(static_cast<char>(unit & 0xFF));
    return position + 6;
  }
  if (!IsHighSurrogate(unit)) {
    AppendUtf8(out, unit);
    return position + 6;
  }
  const unsigned low = FourHexDigits(text.substr(position + 8)).value_or(0);
  AppendUtf8(out, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
  return position + 12;
}

}  // namespace

absl::StatusOr<JsonDocument> JsonDocument::Parse(std::string_view text) {
  JsonDocument document;
  document.tokens_.reserve(64);
  if (absl::Status status = Parser(text, document.tokens_).Parse(); !status.ok()) return status;
  return document;
}

std::string JsonDocument::Unescape(std::uint32_t index) const {
  const std::string_view text = tokens_[index].text;
  if (!tokens_[index].escaped) return std::string(text);
  std::string out;
  out.reserve(text.size());
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t next = text.find('\\', position);
    out.append(text, position, next == std::string_view::npos ? next : next - position);
    if (next == std::string_view::npos) break;
    position = AppendEscape(text, next, out);
  }
  return out;
}

bool JsonDocument::Equals(std::uint32_t index, std::string_view text) const {
  return tokens_[index].escaped ? Unescape(index) == text : tokens_[index].text == text;
}

std::string_view Describe(JsonDocument::Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kFalse:
    case Kind::kTrue:
      return "a truth value";
    case Kind::kNumber:
      return "a number";
    case Kind::kString:
      return "a string";
    case Kind::kArray:
      return "an array";
    case Kind::kObject:
      return "an object";
  }
  return "something else";
}

}  // namespace maxkernel::store
