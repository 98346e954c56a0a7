#include "lib/search/budget_ledger.h"

#include <algorithm>

namespace maxkernel {

void BudgetLedger::Activate(absl::Time now) {
  active_ = true;
  last_ = std::max(last_, now);
}

void BudgetLedger::Advance(absl::Time now) {
  if (active_ && now > last_) view_.wall_time += now - last_;
  last_ = std::max(last_, now);
}

void BudgetLedger::Deactivate(absl::Time now) {
  Advance(now);
  active_ = false;
}

void BudgetLedger::Skip(absl::Time now) { last_ = std::max(last_, now); }

}  // namespace maxkernel
