#ifndef MAXKERNEL_STOP_POLICY_H_
#define MAXKERNEL_STOP_POLICY_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "maxkernel/cost.h"
#include "maxkernel/search_graph.h"
#include "maxkernel/selection_policy.h"

namespace maxkernel {

struct StopArgs {
  const GraphView& graph;
  const BudgetView& budget;
  absl::Time now;
};

struct StopVerdict {
  enum class Kind : std::uint8_t { kContinue, kDrain, kCancel };
  Kind kind = Kind::kContinue;
  std::string reason;
};

// Ends a run before its budget does: nothing improved for long, a target was reached.
// Coordinator thread only; Check is const, as Select is.
class StopPolicy {
 public:
  virtual ~StopPolicy() = default;
  virtual void OnEvent(const OnEventArgs& args) = 0;
  virtual StopVerdict Check(const StopArgs& args) const = 0;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_STOP_POLICY_H_
