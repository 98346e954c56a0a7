// What llm_edit tells a model.
#ifndef MAXKERNEL_LIB_LLM_EDIT_PROMPT_H_
#define MAXKERNEL_LIB_LLM_EDIT_PROMPT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/llm/prompt_library.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/llm/llm_client.h"
#include "maxkernel/task.h"

namespace maxkernel::llm {

// What is known when a prompt is written. Nothing of it may show a hidden case.
struct EditPromptInput {
  std::vector<ParentContext> parents;   // the first is to be edited; none: a draft
  std::vector<std::string> lineage;     // one line each, oldest first
  std::vector<std::string> siblings;    // one line each: what was tried on the first parent
  std::vector<std::string> hints;
  std::string strategy;                 // text; may be empty
};

// How much of the input is left out for want of room.
enum class PromptDetail : std::uint8_t { kAll, kNoHistory, kShortLogs, kMinimal };
inline constexpr PromptDetail kPromptDetails[] = {PromptDetail::kAll, PromptDetail::kNoHistory, PromptDetail::kShortLogs, PromptDetail::kMinimal};

// Writes prompts for one task. Immutable.
class EditPromptWriter {
 public:
  // `hardware` may be empty.
  EditPromptWriter(std::shared_ptr<const Task> task, PromptLibrary library, std::string hardware);

  std::vector<LlmMessage> Write(const EditPromptInput& input, PromptDetail detail) const;
  // The message that reports failed edits back.
  std::string WriteMendEdits(const std::string& failures) const;

  const std::vector<Strategy>& strategies() const { return library_.strategies; }

 private:
  std::string WriteTask() const;
  std::string WriteOrder(const EditPromptInput& input, PromptDetail detail) const;
  std::string ShowCandidate(const Candidate& candidate) const;

  const std::shared_ptr<const Task> task_;
  const PromptLibrary library_;
  const std::string tag_;
  std::string system_;          // in full
  std::string minimal_system_;  // without notes and strategies
  std::string task_text_;
};

// The parent's evaluation failed, or never gave a result: it is to be repaired, not improved.
bool NeedsRepair(const ParentContext& parent);

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_EDIT_PROMPT_H_
