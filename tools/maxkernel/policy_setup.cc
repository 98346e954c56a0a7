#include "tools/maxkernel/policy_setup.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "maxkernel/llm/llm_factory.h"
#include "maxkernel/policies/builtin_policies.h"
#include "maxkernel/policies/portfolio.h"
#include "tools/maxkernel/installation.h"

namespace maxkernel {
namespace {

absl::Status AddLlmOperators(PolicyRegistry& registry, const SearchSettings& settings, const std::shared_ptr<const Task>& task,
                             LlmClient* client) {
  const absl::StatusOr<Installation> installation = FindInstallation();
  if (!installation.ok()) return installation.status();
  LlmOperatorContext context;
  context.client = client;
  context.options = settings.llm;
  context.task = task;
  context.prompt_folder = settings.prompt_folder.value_or(installation->prompt_folder());
  context.hardware_file = installation->hardware_file();
  return RegisterLlmOperators(registry, context);
}

absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakeExpansions(const PolicyRegistry& registry, const std::vector<PolicySpec>& specs) {
  std::vector<PortfolioMember> members;
  for (const PolicySpec& spec : specs) {
    absl::StatusOr<std::unique_ptr<ExpansionPolicy>> member = registry.MakeExpansion(spec);
    if (!member.ok()) return member.status();
    members.push_back({.policy = *std::move(member)});
  }
  if (members.size() == 1) return std::move(members.front().policy);
  return MakePortfolio(std::move(members));
}

absl::StatusOr<std::unique_ptr<StopPolicy>> MakeStops(const PolicyRegistry& registry, const std::vector<PolicySpec>& specs) {
  if (specs.empty()) return nullptr;
  if (specs.size() == 1) return registry.MakeStop(specs.front());
  std::vector<std::string> rules;
  for (const PolicySpec& spec : specs) rules.push_back(spec.ToString());
  return registry.MakeStop(PolicySpec{"any", {{"rules", absl::StrJoin(rules, "; ")}}});
}

}  // namespace

absl::StatusOr<SearchPolicies> MakePolicies(const SearchSettings& settings, const std::shared_ptr<const Task>& task, Clock& clock) {
  SearchPolicies policies;
  PolicyRegistry registry;
  if (absl::Status status = RegisterBuiltinPolicies(registry); !status.ok()) return status;
  if (settings.uses_llm()) {
    absl::StatusOr<std::unique_ptr<LlmClient>> llm = MakeLlmClient(settings.llm, clock);
    if (!llm.ok()) return llm.status();
    policies.llm = *std::move(llm);
    if (absl::Status status = AddLlmOperators(registry, settings, task, policies.llm.get()); !status.ok()) return status;
  } else if (std::any_of(settings.expand.begin(), settings.expand.end(), [](const PolicySpec& spec) { return spec.name == "llm_edit"; })) {
    return absl::InvalidArgumentError("llm_edit: no model is named; expected --llm-model and --llm-base-url");
  }

  absl::StatusOr<std::unique_ptr<SelectionPolicy>> selection = registry.MakeSelection(settings.select);
  if (!selection.ok()) return selection.status();
  policies.selection = *std::move(selection);
  absl::StatusOr<std::unique_ptr<ExpansionPolicy>> expansion = MakeExpansions(registry, settings.expand);
  if (!expansion.ok()) return expansion.status();
  policies.expansion = *std::move(expansion);
  absl::StatusOr<std::unique_ptr<StopPolicy>> stop = MakeStops(registry, settings.stop);
  if (!stop.ok()) return stop.status();
  policies.stop = *std::move(stop);
  return policies;
}

}  // namespace maxkernel
