#include "maxkernel/testing/fake_expansion.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/check.h"

namespace maxkernel {
namespace {

class FakeExpansion final : public ExpansionPolicy, private Proposer {
 public:
  explicit FakeExpansion(FakeExpansionFunctions functions) : functions_(std::move(functions)) {}

  void OnEvent(const OnEventArgs& args) override {
    if (functions_.on_event) functions_.on_event(args);
  }

  absl::StatusOr<std::optional<ProposeRequest>> Prepare(const PrepareArgs& args) const override {
    if (functions_.prepare) return functions_.prepare(args);
    ProposeRequest request;
    request.operator_name = "fake";
    for (NodeId parent : args.order.parents) request.parents.push_back(MakeParentContext(args.graph, parent));
    return request;
  }

  Proposer& proposer() override { return *this; }
  std::vector<std::string> operators() const override { return {"fake"}; }

 private:
  absl::StatusOr<ProposeResult> Propose(const ProposeArgs& args) override {
    if (functions_.propose) return functions_.propose(args);
    return MakeProposal(absl::StrCat("# ", args.reply_key));
  }

  const FakeExpansionFunctions functions_;
};

class FakeSelection final : public SelectionPolicy {
 public:
  explicit FakeSelection(FakeSelectionFunctions functions) : functions_(std::move(functions)) {}

  void OnEvent(const OnEventArgs& args) override {
    if (functions_.on_event) functions_.on_event(args);
  }

  Decision Select(const SelectArgs& args) const override {
    if (functions_.select) return functions_.select(args);
    ExpandOrder order;
    order.parents = {args.graph.ranked().front()};
    return Decision::Orders({std::move(order)}, "the best node");
  }

 private:
  const FakeSelectionFunctions functions_;
};

class FakeStop final : public StopPolicy {
 public:
  explicit FakeStop(FakeStopFunctions functions) : functions_(std::move(functions)) {}

  void OnEvent(const OnEventArgs& args) override {
    if (functions_.on_event) functions_.on_event(args);
  }

  StopVerdict Check(const StopArgs& args) const override { return functions_.check ? functions_.check(args) : StopVerdict{}; }

 private:
  const FakeStopFunctions functions_;
};

}  // namespace

std::unique_ptr<ExpansionPolicy> MakeFakeExpansion(FakeExpansionFunctions functions) {
  return std::make_unique<FakeExpansion>(std::move(functions));
}
std::unique_ptr<SelectionPolicy> MakeFakeSelection(FakeSelectionFunctions functions) {
  return std::make_unique<FakeSelection>(std::move(functions));
}
std::unique_ptr<StopPolicy> MakeFakeStop(FakeStopFunctions functions) { return std::make_unique<FakeStop>(std::move(functions)); }

ProposeResult MakeProposal(std::string_view text) {
  const absl::StatusOr<Candidate> candidate = Candidate::FromText("kernel.py", text);
  MAXKERNEL_CHECK(candidate.ok());
  ProposeResult result;
  result.proposals.push_back({std::make_shared<const Candidate>(*candidate), "a fake change", {}});
  return result;
}

}  // namespace maxkernel
