// What an edit must not do, whatever it matches.
#ifndef MAXKERNEL_LIB_LLM_EDIT_CHECKS_H_
#define MAXKERNEL_LIB_LLM_EDIT_CHECKS_H_

#include <string>
#include <string_view>
#include <vector>

namespace maxkernel::llm {

// The first of `lines` that stands for code left out ("# ... rest unchanged") and is not in the old text; "" if none is.
std::string FindOmission(const std::vector<std::string>& lines, std::string_view old_text);

// A file may fence off what edits can change with comment lines that hold EVOLVE-BLOCK-START and EVOLVE-BLOCK-END.
// "" if an edit keeps within them, or there are none; else what is wrong.
std::string CheckEvolveRegions(std::string_view old_text, std::string_view new_text);

// "U+201C in its line 2" for the first character that is easily mistaken for an ASCII one and not in the file; "" for none.
std::string FindLookalike(const std::vector<std::string>& search, std::string_view file_text);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_EDIT_CHECKS_H_
