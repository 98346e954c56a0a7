#ifndef MAXKERNEL_LIB_EVAL_DAEMON_BOUNDED_TEXT_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_BOUNDED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace maxkernel::eval {

// Keeps the first and the last part of an endless text in bounded memory. Not thread-safe.
class BoundedText {
 public:
  explicit BoundedText(std::size_t limit) : head_limit_(limit / 2), tail_limit_(limit - limit / 2) {}

  void Append(std::string_view bytes);
  // All of it, or both ends around "[... N bytes left out ...]".
  std::string Text() const;
  std::uint64_t size() const { return size_; }

 private:
  std::size_t head_limit_;
  std::size_t tail_limit_;
  std::string head_;
  std::string tail_;  // up to twice its limit, so that trimming is amortised
  std::uint64_t size_ = 0;
};

// The last `limit` bytes, from the start of a line where possible, with what is not UTF-8 replaced by '?'.
std::string Tail(std::string_view text, std::size_t limit);
// With what is not UTF-8 replaced by '?'.
std::string ToUtf8(std::string_view text);

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_BOUNDED_TEXT_H_
