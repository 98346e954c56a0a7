#ifndef MAXKERNEL_LIB_LLM_PROMPT_TEMPLATE_H_
#define MAXKERNEL_LIB_LLM_PROMPT_TEMPLATE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace maxkernel::llm {

using PromptValues = std::map<std::string, std::string, std::less<>>;

// A text with places for values: "{{name}}", and "{{#name}}" ... "{{/name}}", each alone on its line, around what is left out when the
// value is empty. Sections do not nest.
// Immutable.
class PromptTemplate {
 public:
  // InvalidArgument with the file's name and line for a name that is not among `known`, or a section that is not closed.
  static absl::StatusOr<PromptTemplate> Parse(std::string_view file, std::string_view text, const std::vector<std::string>& known);

  // A name without a value is empty. Values are put in as they are: what looks like a place in them is text.
  std::string Render(const PromptValues& values) const;

 private:
  struct Piece {
    std::string section;  // empty: always there
    std::string text;     // literal, or
    std::string value;    // the name of a value
  };
  std::vector<Piece> pieces_;
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_PROMPT_TEMPLATE_H_
