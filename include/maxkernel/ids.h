// Strong identifiers. Each is a number that means nothing outside the run that issued it; none is ever reused.
#ifndef MAXKERNEL_IDS_H_
#define MAXKERNEL_IDS_H_

#include <cstdint>
#include <string>

namespace maxkernel {

// A place in the search graph. Ids ascend in the order in which nodes were added; the root is 0.
enum class NodeId : std::uint64_t {};
// One dispatch of a proposal or an evaluation to a worker. A retry is a new work under the same decision.
enum class WorkId : std::uint64_t {};
// One answer of the selection policy. Keys all randomness used under it.
enum class DecisionId : std::uint64_t {};
// Position of an event in the journal, from 1 and without gaps.
enum class EventSequence : std::uint64_t {};

template <typename Id>
constexpr std::uint64_t ToNumber(Id id) {
  return static_cast<std::uint64_t>(id);
}

// "n12": how a node is written in output and accepted on the command line.
inline std::string ToString(NodeId id) {
  // Not "n" + ...: g++ 12 warns of an overlapping copy there that cannot happen (its bug 105651).
  std::string text(1, 'n');
  text += std::to_string(ToNumber(id));
  return text;
}

inline constexpr NodeId kRootNode{0};

}  // namespace maxkernel

#endif  // MAXKERNEL_IDS_H_
