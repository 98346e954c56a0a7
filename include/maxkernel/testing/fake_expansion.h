#ifndef MAXKERNEL_TESTING_FAKE_EXPANSION_H_
#define MAXKERNEL_TESTING_FAKE_EXPANSION_H_

#include <functional>
#include <memory>

#include "maxkernel/expansion_policy.h"
#include "maxkernel/selection_policy.h"
#include "maxkernel/stop_policy.h"

namespace maxkernel {

// Policies from functions, for tests of an engine or of another policy. Functions that are not given do the least that is legal.
struct FakeExpansionFunctions {
  std::function<absl::StatusOr<ProposeResult>(const ProposeArgs&)> propose;  // none: a fresh candidate that names the reply key
  std::function<absl::StatusOr<std::optional<ProposeRequest>>(const PrepareArgs&)> prepare;  // none: first parent, operator "fake"
  std::function<void(const OnEventArgs&)> on_event;
};
std::unique_ptr<ExpansionPolicy> MakeFakeExpansion(FakeExpansionFunctions functions = {});

struct FakeSelectionFunctions {
  std::function<Decision(const SelectArgs&)> select;  // none: expands the best node
  std::function<void(const OnEventArgs&)> on_event;
};
std::unique_ptr<SelectionPolicy> MakeFakeSelection(FakeSelectionFunctions functions = {});

struct FakeStopFunctions {
  std::function<StopVerdict(const StopArgs&)> check;  // none: goes on
  std::function<void(const OnEventArgs&)> on_event;
};
std::unique_ptr<StopPolicy> MakeFakeStop(FakeStopFunctions functions = {});

// A proposal of one candidate with this text in kernel.py.
ProposeResult MakeProposal(std::string_view text);

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTING_FAKE_EXPANSION_H_
