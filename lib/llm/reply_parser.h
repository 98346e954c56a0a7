// Finds the edits in a model's reply. docs/reference/edits.md has the grammar.
#ifndef MAXKERNEL_LIB_LLM_REPLY_PARSER_H_
#define MAXKERNEL_LIB_LLM_REPLY_PARSER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "maxkernel/llm/edit.h"

namespace maxkernel::llm {

inline constexpr std::size_t kMaximumReply = 4 << 20;  // bytes
inline constexpr std::size_t kMaximumBlocks = 200;

struct EditBlock {
  std::size_t number = 0;            // from 1, among all blocks of the reply
  std::string file;                  // as the reply names it; empty if it does not
  std::vector<std::string> search;   // lines without their ends
  std::vector<std::string> replace;
};

struct WholeFile {
  std::size_t number = 0;
  std::string file;
  std::vector<std::string> lines;
};

struct ParsedReply {
  std::vector<EditBlock> blocks;      // if there are any, files is empty
  std::vector<WholeFile> files;       // fenced blocks
  std::vector<EditFailure> failures;  // of form: unterminated, ambiguous, not UTF-8
  std::string rationale;
};

ParsedReply ParseReply(std::string_view reply);

// The path that a line of a reply names ("**a.py**", "# a.py", "`a.py`:"), or "" if it names none.
std::string PathOnLine(std::string_view line);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_REPLY_PARSER_H_
