#ifndef MAXKERNEL_LIB_LLM_EDIT_PROPOSER_H_
#define MAXKERNEL_LIB_LLM_EDIT_PROPOSER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/llm/edit_prompt.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/llm/llm_client.h"

namespace maxkernel::llm {

// The payload of a request of llm_edit.
struct EditOrder {
  std::vector<LlmMessage> messages;
  std::int64_t max_output_tokens = 0;
  std::optional<double> temperature;
  std::uint32_t max_calls = 1;
};
std::string EditOrderJson(const EditOrder& order);
absl::StatusOr<EditOrder> ParseEditOrderJson(std::string_view text);

// Asks a model for edits and applies them. Edits that do not apply are reported back to the model while calls are left. Every
// reply is in the reply log before it is used; one that is there already is used, and its cost counted, without a call.
// Thread-safe.
class EditProposer : public Proposer {
 public:
  // `draft_base` is what the edits of a request without parents apply to. The pointees outlive the proposer.
  EditProposer(LlmClient& client, const EditPromptWriter& writer, std::shared_ptr<const Candidate> draft_base)
      : client_(client), writer_(writer), draft_base_(std::move(draft_base)) {}

  absl::StatusOr<ProposeResult> Propose(const ProposeArgs& args) override;

 private:
  absl::StatusOr<LlmReply> Ask(const ProposeArgs& args, const LlmRequest& request, std::uint32_t call);

  LlmClient& client_;
  const EditPromptWriter& writer_;
  const std::shared_ptr<const Candidate> draft_base_;
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_EDIT_PROPOSER_H_
