#ifndef MAXKERNEL_LIB_STORE_JSON_WRITER_H_
#define MAXKERNEL_LIB_STORE_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace maxkernel::store {

// Writes compact JSON straight into a string, in the order of the calls. The caller keeps keys and values in pairs.
class JsonWriter {
 public:
  // What becomes of bytes that are not UTF-8: the journal must give back what was put in, other readers must not stumble.
  enum class BadBytes : std::uint8_t {
    kEscape,   // byte 0xNN becomes \udcNN, a lone surrogate that JsonDocument turns back into the byte
    kReplace,  // U+FFFD
  };

  explicit JsonWriter(BadBytes bad_bytes) : bad_bytes_(bad_bytes) {}

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  void Key(std::string_view name);
  void String(std::string_view text);
  void Integer(std::int64_t value);
  void Unsigned(std::uint64_t value);
  // Shortest text that reads back as the same double. JSON has no infinities: they become the largest finite number, NaN 0.
  void Double(double value);
  void Bool(bool value) { Raw(value ? "true" : "false"); }
  void Null() { Raw("null"); }
  // A value that is JSON already.
  void Raw(std::string_view json);

  std::string Take() && { return std::move(text_); }

 private:
  void Separate() {
    if (needs_comma_) text_.push_back(',');
  }
  void Open(char bracket);
  void Close(char bracket);
  void AppendQuoted(std::string_view text);
  void AppendBadByte(unsigned char byte);

  std::string text_;
  bool needs_comma_ = false;
  BadBytes bad_bytes_;
};

}  // namespace maxkernel::store

#endif  // MAXKERNEL_LIB_STORE_JSON_WRITER_H_
