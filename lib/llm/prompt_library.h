#ifndef MAXKERNEL_LIB_LLM_PROMPT_LIBRARY_H_
#define MAXKERNEL_LIB_LLM_PROMPT_LIBRARY_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/llm/prompt_template.h"

namespace maxkernel::llm {

struct Strategy {
  std::string id;
  std::string text;
};

// The prompt folder. share/prompts/README.md describes its files.
struct PromptLibrary {
  PromptTemplate system;
  PromptTemplate task;
  PromptTemplate improve;
  PromptTemplate repair;
  PromptTemplate draft;
  PromptTemplate mend_edits;
  std::string notes;
  std::vector<Strategy> strategies;
};

// NotFound for a folder or file that is missing; InvalidArgument, with file and line, for what is malformed.
absl::StatusOr<PromptLibrary> LoadPrompts(const std::filesystem::path& folder);

// What a prompt says about a chip, from the hardware file. InvalidArgument, with the known names, for one that the file lacks.
absl::StatusOr<std::string> DescribeChip(const std::filesystem::path& hardware_file, std::string_view chip);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_PROMPT_LIBRARY_H_
