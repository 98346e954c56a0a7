#ifndef MAXKERNEL_SELECTION_POLICY_H_
#define MAXKERNEL_SELECTION_POLICY_H_

#include <string>

#include "absl/time/time.h"
#include "maxkernel/decision.h"
#include "maxkernel/event.h"
#include "maxkernel/ids.h"
#include "maxkernel/random.h"
#include "maxkernel/search_graph.h"

namespace maxkernel {

struct OnEventArgs {
  const Event& event;
  const GraphView& graph;  // the event is already applied
  KeyedRandom random;      // stream kOnEvent, keyed by the event's sequence
};

struct SelectArgs {
  DecisionId decision;
  const GraphView& graph;
  const InFlightView& in_flight;
  const BudgetView& budget;
  SlotCounts free;         // at least one expand or evaluate slot is free
  absl::Time now;          // recorded with the decision, so that it replays
  KeyedRandom random;      // stream kSelect, keyed by the decision
};

// Decides which nodes to work on next.
//
// All state changes happen in OnEvent; Select is a pure function of the events so far and its arguments. That one rule makes
// resume free: replaying the journal through OnEvent rebuilds the policy, and authors write no serialisation. So: no clock, no
// random numbers but those given, no iteration over unordered containers, no files after construction.
//
// Coordinator thread only: no locks needed. The engine calls OnEvent for every event in journal order, and Select whenever
// there is capacity. An exception ends the policy's part in the run, not the run's data.
//
// Example: lib/policies/best_first.cc.
class SelectionPolicy {
 public:
  virtual ~SelectionPolicy() = default;

  // The only mutator.
  virtual void OnEvent(const OnEventArgs& args) = 0;

  // Answers with orders, kWait or kExhausted. kWait with nothing in flight ends the run as stuck. An order must not name a node
  // that is not in the graph. Should take well under 1 ms at 10,000 nodes.
  virtual Decision Select(const SelectArgs& args) const = 0;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_SELECTION_POLICY_H_
