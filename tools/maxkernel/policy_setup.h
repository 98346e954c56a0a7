#ifndef MAXKERNEL_TOOLS_MAXKERNEL_POLICY_SETUP_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_POLICY_SETUP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "maxkernel/clock.h"
#include "maxkernel/llm/llm_client.h"
#include "maxkernel/policy_registry.h"
#include "maxkernel/task.h"
#include "tools/maxkernel/settings.h"

namespace maxkernel {

// The policies that settings ask for, and what they need while they live.
struct SearchPolicies {
  std::unique_ptr<LlmClient> llm;               // null without a model; outlives the policies
  std::unique_ptr<SelectionPolicy> selection;
  std::unique_ptr<ExpansionPolicy> expansion;   // one, or a portfolio
  std::unique_ptr<StopPolicy> stop;             // may be null
};

absl::StatusOr<SearchPolicies> MakePolicies(const SearchSettings& settings, const std::shared_ptr<const Task>& task, Clock& clock);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_POLICY_SETUP_H_
