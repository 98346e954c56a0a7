#include <algorithm>
#include <set>

#include "maxkernel/expansion_policy.h"

namespace maxkernel {
namespace {

std::shared_ptr<const Evaluation> WithoutHiddenCases(const std::shared_ptr<const Evaluation>& evaluation) {
  if (evaluation == nullptr) return nullptr;
  std::set<std::string> hidden;
  for (const CaseResult& result : evaluation->cases) {
    if (result.hidden) hidden.insert(result.name);
  }
  if (hidden.empty()) return evaluation;
  auto shown = std::make_shared<Evaluation>(*evaluation);
  std::erase_if(shown->cases, [](const CaseResult& result) { return result.hidden; });
  bool removed_error = false;
  for (StageReport& stage : shown->stages) {
    std::erase_if(stage.diagnostics, [&](const Diagnostic& diagnostic) {
      const bool remove = hidden.contains(diagnostic.case_name);
      removed_error |= remove && diagnostic.severity == Severity::kError;
      return remove;
    });
  }
  const bool names_one = std::any_of(hidden.begin(), hidden.end(), [&](const std::string& name) {
    return shown->reason.find(name) != std::string::npos;
  });
  if (removed_error || names_one) shown->reason = "fails on a case that is not shown";
  return shown;
}

}  // namespace

ParentContext MakeParentContext(const GraphView& graph, NodeId id) {
  const Node& node = graph.node(id);
  return {id, node.candidate, WithoutHiddenCases(node.evaluation), node.score};
}

}  // namespace maxkernel
