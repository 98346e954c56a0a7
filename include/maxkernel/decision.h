// What a selection policy may ask for.
#ifndef MAXKERNEL_DECISION_H_
#define MAXKERNEL_DECISION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "maxkernel/evaluation.h"
#include "maxkernel/ids.h"

namespace maxkernel {

// Small named settings that travel with orders, requests and nodes: a strategy's name, a tunable's value.
using Parameters = std::map<std::string, std::string>;

// Make new candidates. No parents means a fresh draft from the task alone.
struct ExpandOrder {
  std::vector<NodeId> parents;
  std::string operator_name;          // empty: the expansion policy chooses
  std::string branch;                 // island, chain or beam slot that the children belong to; empty: the only one
  std::optional<std::string> model;   // an LLM by name; nullopt: the expansion policy chooses
  std::uint32_t samples = 1;          // independent proposals
  Parameters parameters;

  bool operator==(const ExpandOrder&) const = default;
};

// Evaluate a node again: at another fidelity, or for more samples.
struct EvaluateOrder {
  NodeId node{};
  Fidelity fidelity = Fidelity::kEstimate;
  std::uint32_t repeats = 1;
  std::optional<NodeId> paired;       // measured interleaved with this node, for a comparison under equal conditions

  bool operator==(const EvaluateOrder&) const = default;
};

// Give up work in flight.
struct CancelOrder {
  WorkId work{};

  bool operator==(const CancelOrder&) const = default;
};

// Put a node on another branch (migration between islands), or on one more.
struct RelabelOrder {
  enum class Mode : std::uint8_t { kMove, kCopy };
  NodeId node{};
  std::string branch;
  Mode mode = Mode::kMove;

  bool operator==(const RelabelOrder&) const = default;
};

using Order = std::variant<ExpandOrder, EvaluateOrder, CancelOrder, RelabelOrder>;

struct Decision {
  enum class Kind : std::uint8_t {
    kOrders,     // carry these out
    kWait,       // ask again after the next event; legal only while work is in flight
    kExhausted,  // there is nothing left to try, now or later
  };
  Kind kind = Kind::kWait;
  std::vector<Order> orders;
  std::string why;       // for people, one line
  Parameters trace;      // for the policy itself, which sees it again in the DecisionMade event

  static Decision Orders(std::vector<Order> orders, std::string why) {
    return {Kind::kOrders, std::move(orders), std::move(why), {}};
  }
  static Decision Wait(std::string why) { return {Kind::kWait, {}, std::move(why), {}}; }
  static Decision Exhausted(std::string why) { return {Kind::kExhausted, {}, std::move(why), {}}; }

  bool operator==(const Decision&) const = default;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_DECISION_H_
