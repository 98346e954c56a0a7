#ifndef MAXKERNEL_LIB_LLM_TEXT_LINES_H_
#define MAXKERNEL_LIB_LLM_TEXT_LINES_H_

#include <string>
#include <string_view>
#include <vector>

namespace maxkernel::llm {

// The lines of a text, without LF or CRLF. A line end at the very end starts no further line.
std::vector<std::string_view> SplitLines(std::string_view text);

std::string_view TrimBlanks(std::string_view text);
std::string_view TrimTrailingBlanks(std::string_view text);
// The blanks and tabs that a line begins with.
std::string_view Indent(std::string_view line);

// Whether the bytes are UTF-8 without NUL.
bool IsText(std::string_view bytes);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_TEXT_LINES_H_
