#include <catch2/catch.hpp>

#include "maxkernel/expansion_policy.h"

namespace maxkernel {
namespace {

// A graph of one node.
class OneNode final : public GraphView {
 public:
  explicit OneNode(Evaluation evaluation) {
    node_.candidate = std::make_shared<const Candidate>(*Candidate::FromText("k.py", "x = 1"));
    node_.evaluation = std::make_shared<const Evaluation>(std::move(evaluation));
  }
  std::size_t size() const override { return 1; }
  const Node& node(NodeId) const override { return node_; }
  std::optional<NodeId> Find(std::string_view) const override { return std::nullopt; }
  std::optional<NodeId> champion() const override { return std::nullopt; }
  std::span<const NodeId> ranked() const override { return {}; }

 private:
  Node node_;
};

Evaluation FailingOn(const std::string& case_name) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kIncorrect;
  evaluation.reason = "case " + case_name + ": 3 elements differ";
  evaluation.cases = {{.name = "shown"}, {.name = "secret", .hidden = true}};
  StageReport stage;
  stage.stage = Stage::kTest;
  stage.diagnostics = {{.message = "differs", .case_name = case_name}};
  evaluation.stages = {stage};
  return evaluation;
}

TEST_CASE("MakeParentContext takes hidden cases out") {
  const OneNode graph(FailingOn("secret"));
  const ParentContext context = MakeParentContext(graph, kRootNode);
  REQUIRE(context.evaluation->cases.size() == 1);
  CHECK(context.evaluation->cases[0].name == "shown");
  CHECK(context.evaluation->stages[0].diagnostics.empty());
  CHECK(context.evaluation->reason.find("secret") == std::string::npos);
  CHECK(context.evaluation->verdict == Verdict::kIncorrect);
}

TEST_CASE("MakeParentContext keeps what concerns shown cases") {
  const OneNode graph(FailingOn("shown"));
  const ParentContext context = MakeParentContext(graph, kRootNode);
  CHECK(context.evaluation->stages[0].diagnostics.size() == 1);
  CHECK(context.evaluation->reason == "case shown: 3 elements differ");
}

}  // namespace
}  // namespace maxkernel
