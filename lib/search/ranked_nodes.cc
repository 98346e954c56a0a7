#include "lib/search/ranked_nodes.h"

#include <algorithm>

#include "maxkernel/internal/check.h"

namespace maxkernel {
namespace {

template <typename T>
void ShiftLeft(std::vector<T>& items, std::size_t begin, std::size_t end) {
  std::move(items.begin() + static_cast<std::ptrdiff_t>(begin), items.begin() + static_cast<std::ptrdiff_t>(end),
            items.begin() + static_cast<std::ptrdiff_t>(begin) - 1);
}

template <typename T>
void ShiftRight(std::vector<T>& items, std::size_t begin, std::size_t end) {
  std::move_backward(items.begin() + static_cast<std::ptrdiff_t>(begin), items.begin() + static_cast<std::ptrdiff_t>(end),
                     items.begin() + static_cast<std::ptrdiff_t>(end) + 1);
}

}  // namespace

std::size_t RankedNodes::LowerBound(NodeId node, double score) const {
  std::size_t low = begin_;
  std::size_t high = begin_ + size_;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const bool before = scores_[middle] > score || (scores_[middle] == score && ids_[middle] < node);
    if (before) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void RankedNodes::MakeRoom() {
  if (begin_ > 0 && begin_ + size_ < ids_.size()) return;
  const std::size_t slack = std::max<std::size_t>(16, size_ / 2);
  std::vector<NodeId> ids(size_ + 2 * slack);
  std::vector<double> scores(size_ + 2 * slack);
  std::copy_n(ids_.begin() + static_cast<std::ptrdiff_t>(begin_), size_, ids.begin() + static_cast<std::ptrdiff_t>(slack));
  std::copy_n(scores_.begin() + static_cast<std::ptrdiff_t>(begin_), size_, scores.begin() + static_cast<std::ptrdiff_t>(slack));
  ids_ = std::move(ids);
  scores_ = std::move(scores);
  begin_ = slack;
}

void RankedNodes::Insert(NodeId node, double score) {
  MakeRoom();
  std::size_t place = LowerBound(node, score);
  const std::size_t end = begin_ + size_;
  if (place - begin_ < end - place) {
    ShiftLeft(ids_, begin_, place);
    ShiftLeft(scores_, begin_, place);
    --begin_;
    --place;
  } else {
    ShiftRight(ids_, place, end);
    ShiftRight(scores_, place, end);
  }
  ids_[place] = node;
  scores_[place] = score;
  ++size_;
}

void RankedNodes::Erase(NodeId node, double score) {
  const std::size_t place = LowerBound(node, score);
  const std::size_t end = begin_ + size_;
  MAXKERNEL_CHECK(place < end && ids_[place] == node);
  if (place - begin_ < end - place - 1) {
    ShiftRight(ids_, begin_, place);
    ShiftRight(scores_, begin_, place);
    ++begin_;
  } else {
    ShiftLeft(ids_, place + 1, end);
    ShiftLeft(scores_, place + 1, end);
  }
  --size_;
}

}  // namespace maxkernel
