#include "lib/store/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "maxkernel/internal/utf8.h"

namespace maxkernel::store {
namespace {

constexpr char kHex[] = "0123456789abcdef";

bool IsPlain(unsigned char byte) { return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\'; }

template <typename Number>
void AppendNumber(std::string& text, Number value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  text.append(buffer.data(), end.ptr);
}

void AppendControl(std::string& text, unsigned char byte) {
  switch (byte) {
    case '"':
    case '\\':
      text.push_back('\\');
      text.push_back(static_cast<char>(byte));
      return;
    case '\n':
      text.append("\\n");
      return;
    case '\t':
      text.append("\\t");
      return;
    case '\r':
      text.append("\\r");
      return;
    default:
      text.append("\\u00");
      text.push_back(kHex[byte >> 4]);
      text.push_back(kHex[byte & 15]);
  }
}

}  // namespace

void JsonWriter::Key(std::string_view name) {
  Separate();
  AppendQuoted(name);
  text_.push_back(':');
  needs_comma_ = false;
}

void JsonWriter::String(std::string_view text) {
  Separate();
  AppendQuoted(text);
  needs_comma_ = true;
}

void JsonWriter::Integer(std::int64_t value) {
  Separate();
  AppendNumber(text_, value);
  needs_comma_ = true;
}

void JsonWriter::Unsigned(std::uint64_t value) {
  Separate();
  AppendNumber(text_, value);
  needs_comma_ = true;
}

void JsonWriter::Double(double value) {
  Separate();
  if (std::isnan(value)) value = 0;
  if (std::isinf(value)) value = std::copysign(std::numeric_limits<double>::max(), value);
  AppendNumber(text_, value);
  needs_comma_ = true;
}

void JsonWriter::Raw(std::string_view json) {
  Separate();
  text_.append(json);
  needs_comma_ = true;
}

void JsonWriter::Open(char bracket) {
  Separate();
  text_.push_back(bracket);
  needs_comma_ = false;
}

void JsonWriter::Close(char bracket) {
  text_.push_back(bracket);
  needs_comma_ = true;
}

void JsonWriter::AppendQuoted(std::string_view text) {
  text_.push_back('"');
  std::size_t position = 0;
  while (position < text.size()) {
    std::size_t end = position;
    while (end < text.size() && IsPlain(static_cast<unsigned char>(text[end]))) ++end;
    text_.append(text, position, end - position);
    position = end;
    if (position == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[position]);
    if (byte < 0x80) {
      AppendControl(text_, byte);
      ++position;
    } else if (const std::size_t length = internal::Utf8SequenceLength(text.substr(position)); length > 0) {
      text_.append(text, position, length);
      position += length;
    } else {
      AppendBadByte(byte);
      ++position;
    }
  }
  text_.push_back('"');
}

void JsonWriter::AppendBadByte(unsigned char byte) {
  if (bad_bytes_ == BadBytes::kReplace) {
    text_.append("\xEF\xBF\xBD");
    return;
  }
  text_.append("\\udc");
  text_.push_back(kHex[byte >> 4]);
  text_.push_back(kHex[byte & 15]);
}

}  // namespace maxkernel::store
