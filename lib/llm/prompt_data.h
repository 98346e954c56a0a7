// How text that is not ours enters a prompt.
#ifndef MAXKERNEL_LIB_LLM_PROMPT_DATA_H_
#define MAXKERNEL_LIB_LLM_PROMPT_DATA_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace maxkernel::llm {

// A tag name that generated code cannot know: derived from the task, so that prompts with one task begin with the same bytes.
std::string MakeDataTag(std::string_view task_digest);

// `text` between tags, as data: cleaned, and with the tag taken out wherever the text has it.
std::string DataBlock(std::string_view tag, std::string_view name, std::string_view text);

// Without control characters and terminal colours; UTF-8 or replaced by '?'.
std::string CleanText(std::string_view text);

// The first and last lines of a text that is longer than `limit` bytes, with a note of how much was cut.
std::string KeepEnds(std::string_view text, std::size_t limit);

// The first line, at most `limit` bytes.
std::string FirstLine(std::string_view text, std::size_t limit);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_PROMPT_DATA_H_
