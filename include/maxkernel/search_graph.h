#ifndef MAXKERNEL_SEARCH_GRAPH_H_
#define MAXKERNEL_SEARCH_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maxkernel/candidate.h"
#include "maxkernel/cost.h"
#include "maxkernel/decision.h"
#include "maxkernel/evaluation.h"
#include "maxkernel/ids.h"
#include "maxkernel/score.h"

namespace maxkernel {

enum class NodeState : std::uint8_t {
  kPending,     // waiting for its evaluation
  kEvaluating,
  kValid,       // correct and scored
  kUnscored,    // correct, but its time could not be had
  kFailed,      // any other verdict
  kBroken,      // the evaluator could not say, after all retries
  kVetoed,      // by a person
};
std::string_view ToString(NodeState state);

// A place in the search graph.
struct Node {
  NodeId id{};
  NodeState state = NodeState::kPending;
  std::vector<NodeId> parents;
  std::vector<NodeId> children;               // ascending
  std::string operator_name;
  std::vector<std::string> branches;
  std::string model;
  std::string rationale;
  Parameters tunables;
  std::uint32_t depth = 0;                    // longest path from a node without parents
  std::optional<Score> score;                 // present exactly if state is kValid
  Cost cost;                                  // its proposal's (shared equally among siblings of one proposal) and evaluations'
  std::shared_ptr<const Candidate> candidate; // never null
  // The latest evaluation that gave a verdict; null before. Shared, since a run may hold very many.
  std::shared_ptr<const Evaluation> evaluation;
  std::uint32_t evaluation_count = 0;
  std::uint32_t settled_orders = 0;           // expand orders with this node as first parent that have settled
  std::uint32_t fruitless_orders = 0;         // those of them without a valid child
  // Operators that have nothing left to try on this node.
  std::vector<std::string> exhausted_operators;
};

// Read-only view of the search graph: a directed acyclic graph whose nodes are only ever added. Policies get one by reference,
// valid for the duration of the call; they keep ids, not references.
// Coordinator thread only, unless a class says otherwise.
class GraphView {
 public:
  virtual ~GraphView() = default;

  virtual std::size_t size() const = 0;
  // The node with this id. CHECK-fails unless ToNumber(id) < size(); ids are dense, so 0 .. size()-1 enumerates all.
  virtual const Node& node(NodeId id) const = 0;
  // The node that holds a candidate with this content hash.
  virtual std::optional<NodeId> Find(std::string_view content_hash) const = 0;
  // The best confirmed node; the root once it is scored.
  virtual std::optional<NodeId> champion() const = 0;
  // Valid nodes, best first: by score, ties by lower id. What a policy may take as a normal parent.
  virtual std::span<const NodeId> ranked() const = 0;
};

// Work in flight, counted from dispatch and settle events alone. Counts are of expand orders (by first parent, branch and model)
// and of evaluations.
class InFlightView {
 public:
  virtual ~InFlightView() = default;
  virtual std::size_t proposals() const = 0;
  virtual std::size_t evaluations() const = 0;         // dispatched
  virtual std::size_t waiting_evaluations() const = 0; // nodes that wait for a free evaluator
  virtual std::size_t orders_on(NodeId first_parent) const = 0;
  virtual std::size_t orders_on_branch(std::string_view branch) const = 0;
  virtual std::size_t proposals_with_model(std::string_view model) const = 0;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_SEARCH_GRAPH_H_
