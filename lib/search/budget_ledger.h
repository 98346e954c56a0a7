#ifndef MAXKERNEL_LIB_SEARCH_BUDGET_LEDGER_H_
#define MAXKERNEL_LIB_SEARCH_BUDGET_LEDGER_H_

#include "absl/time/time.h"
#include "maxkernel/cost.h"

namespace maxkernel {

// What a run may spend, has spent and has reserved for work in flight, and how long it has been active.
// Coordinator thread only.
class BudgetLedger {
 public:
  void SetLimits(const Budget& limits) { view_.limits = limits; }
  void Reserve(const Cost& cost) { view_.reserved += cost; }
  void Release(const Cost& cost) { view_.reserved -= cost; }
  void Spend(const Cost& cost) { view_.spent += cost; }

  // Time counts between Activate and Deactivate. Moments never go backwards.
  void Activate(absl::Time now);
  void Deactivate(absl::Time now);
  void Advance(absl::Time now);
  // Does not count the time since the last Advance: the process was not there.
  void Skip(absl::Time now);

  const BudgetView& view() const { return view_; }

 private:
  BudgetView view_;
  bool active_ = false;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_SEARCH_BUDGET_LEDGER_H_
