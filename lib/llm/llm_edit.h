#ifndef MAXKERNEL_LIB_LLM_LLM_EDIT_H_
#define MAXKERNEL_LIB_LLM_LLM_EDIT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/llm/edit_prompt.h"
#include "lib/llm/edit_proposer.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/llm/llm_factory.h"
#include "maxkernel/policy_spec.h"

namespace maxkernel::llm {

struct LlmEditOptions {
  std::int64_t max_calls = 2;               // of one proposal: the first, and one per report of failed edits
  std::optional<double> temperature;
  std::int64_t max_output_tokens = 8192;
  std::vector<std::string> strategies;      // ids to choose from; empty: no strategy
};

// One change by a model to one parent: improves one that works, repairs one that failed, drafts where there is none. Each prompt for an
// improvement or a draft names one strategy, one of those least often tried on that parent.
class LlmEditPolicy : public ExpansionPolicy {
 public:
  static constexpr char kName[] = "llm_edit";

  // InvalidArgument for options that are none.
  static absl::StatusOr<std::unique_ptr<LlmEditPolicy>> Create(const PolicySpec& spec, const LlmOperatorContext& context);

  void OnEvent(const OnEventArgs& args) override;
  absl::StatusOr<std::optional<ProposeRequest>> Prepare(const PrepareArgs& args) const override;
  Proposer& proposer() override { return proposer_; }
  std::vector<std::string> operators() const override { return {kName}; }

 private:
  LlmEditPolicy(LlmEditOptions options, const LlmOperatorContext& context, PromptLibrary library, std::string hardware);

  // A strategy's id; empty for none.
  absl::StatusOr<std::string> ChooseStrategy(const PrepareArgs& args) const;
  Cost Reserve(std::int64_t input_tokens) const;

  const LlmEditOptions options_;
  const LlmOptions llm_;
  const std::shared_ptr<const Task> task_;
  const EditPromptWriter writer_;
  EditProposer proposer_;
  std::vector<std::string> hints_;
  // How often each strategy was tried, by first parent (nullopt: drafts).
  std::map<std::optional<NodeId>, std::map<std::string, std::uint32_t>> tried_;
};

}  // namespace maxkernel::llm

#endif  // MAXKERNEL_LIB_LLM_LLM_EDIT_H_
