#include "lib/search/search_graph.h"

#include <algorithm>
#include <utility>

#include "maxkernel/internal/check.h"

namespace maxkernel {

const Node& SearchGraph::node(NodeId id) const {
  MAXKERNEL_CHECK(ToNumber(id) < nodes_.size());
  return nodes_[ToNumber(id)];
}

Node& SearchGraph::At(NodeId id) {
  MAXKERNEL_CHECK(ToNumber(id) < nodes_.size());
  return nodes_[ToNumber(id)];
}

std::optional<NodeId> SearchGraph::Find(std::string_view content_hash) const {
  const auto found = by_content_.find(content_hash);
  if (found == by_content_.end()) return std::nullopt;
  return found->second;
}

void SearchGraph::Add(const NodeAdded& added) {
  MAXKERNEL_CHECK(ToNumber(added.node) == nodes_.size() && added.candidate != nullptr);
  Node node;
  node.id = added.node;
  node.parents = added.parents;
  node.operator_name = added.operator_name;
  if (!added.branch.empty()) node.branches.push_back(added.branch);
  node.model = added.model;
  node.rationale = added.rationale;
  node.tunables = added.tunables;
  node.candidate = added.candidate;
  bool vetoed = false;
  for (NodeId parent : added.parents) {
    Node& above = At(parent);
    if (above.children.empty() || above.children.back() != added.node) above.children.push_back(added.node);
    node.depth = std::max(node.depth, above.depth + 1);
    vetoed = vetoed || vetoed_subtree_[ToNumber(parent)];
  }
  if (vetoed) node.state = NodeState::kVetoed;
  vetoed_subtree_.push_back(vetoed);
  nodes_.push_back(std::move(node));
  by_content_.emplace(nodes_.back().candidate->content_hash(), added.node);
}

void SearchGraph::SetState(Node& node, NodeState state, const std::optional<Score>& score) {
  if (node.state == NodeState::kValid) ranked_.Erase(node.id, node.score->value);
  node.state = state;
  node.score = score;
  if (state == NodeState::kValid) ranked_.Insert(node.id, node.score->value);
}

void SearchGraph::SetProgress(NodeId id, NodeState state) {
  Node& node = At(id);
  if (node.state != NodeState::kPending && node.state != NodeState::kEvaluating && node.state != NodeState::kBroken) return;
  node.state = state;
}

void SearchGraph::RecordEvaluation(NodeId id, std::shared_ptr<const Evaluation> evaluation, const std::optional<Score>& score,
                                   Relevance relevance) {
  Node& node = At(id);
  const bool correct = evaluation->verdict == Verdict::kCorrect;
  ++node.evaluation_count;
  node.evaluation = std::move(evaluation);
  if (node.state == NodeState::kVetoed) return;
  if (!correct) {
    SetState(node, NodeState::kFailed, std::nullopt);
  } else if (relevance == Relevance::kScoring && score.has_value()) {
    SetState(node, NodeState::kValid, score);
  } else if (relevance == Relevance::kScoring && node.state != NodeState::kValid) {
    SetState(node, NodeState::kUnscored, std::nullopt);
  }
}

void SearchGraph::AddCost(NodeId node, const Cost& cost) { At(node).cost += cost; }
void SearchGraph::SubtractCost(NodeId node, const Cost& cost) { At(node).cost -= cost; }

void SearchGraph::RecordOrder(NodeId first_parent, bool fruitful) {
  Node& node = At(first_parent);
  ++node.settled_orders;
  if (!fruitful) ++node.fruitless_orders;
}

void SearchGraph::MarkExhausted(NodeId id, const std::string& operator_name) {
  Node& node = At(id);
  const auto found = std::find(node.exhausted_operators.begin(), node.exhausted_operators.end(), operator_name);
  if (found == node.exhausted_operators.end()) node.exhausted_operators.push_back(operator_name);
}

void SearchGraph::Relabel(NodeId id, const std::string& branch, RelabelOrder::Mode mode) {
  Node& node = At(id);
  if (mode == RelabelOrder::Mode::kMove) node.branches.clear();
  if (std::find(node.branches.begin(), node.branches.end(), branch) == node.branches.end()) node.branches.push_back(branch);
}

void SearchGraph::Veto(NodeId id, bool subtree) {
  std::vector<NodeId> affected{id};
  while (!affected.empty()) {
    Node& node = At(affected.back());
    affected.pop_back();
    if (subtree && !vetoed_subtree_[ToNumber(node.id)]) {
      vetoed_subtree_[ToNumber(node.id)] = true;
      affected.insert(affected.end(), node.children.begin(), node.children.end());
    }
    if (node.state != NodeState::kVetoed) SetState(node, NodeState::kVetoed, std::nullopt);
  }
}

}  // namespace maxkernel
