#ifndef MAXKERNEL_SEARCH_OBSERVER_H_
#define MAXKERNEL_SEARCH_OBSERVER_H_

#include "maxkernel/cost.h"
#include "maxkernel/event.h"
#include "maxkernel/search_graph.h"

namespace maxkernel {

struct ObserveArgs {
  const Event& event;       // already durable
  const GraphView& graph;   // valid during the call; may be ahead of the event by what was committed together with it
  const BudgetView& budget;
};

// Watches a run: progress lines, logs, dashboards. Not called for events that are replayed on resume.
// Called on the coordinator thread, after commit, with no lock held; must return fast. Exceptions are counted and swallowed, and after
// three the observer is detached.
class SearchObserver {
 public:
  virtual ~SearchObserver() = default;
  virtual void OnEvent(const ObserveArgs& args) = 0;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_SEARCH_OBSERVER_H_
