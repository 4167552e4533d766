#include "ops/ml/forest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/checked.h"
#include "base/rounding.h"

namespace tessera::cpu {
namespace {

constexpr uint32_t kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;

uint32_t TestOf(Branch branch) {
  switch (branch) {
    case Branch::kLeq:
      return kLess | kEqual;
    case Branch::kLt:
      return kLess;
    case Branch::kGte:
      return kGreater | kEqual;
    case Branch::kGt:
      return kGreater;
    case Branch::kEq:
      return kEqual;
    case Branch::kNeq:
      return kLess | kGreater | kUnordered;
    case Branch::kMember:
    case Branch::kLeaf:
      return 0;
  }
  return 0;
}

/// Order of a tree's nodes from its root, breadth first. Throws Error on children out of range and on cycles.
template <class T>
void CheckTree(const ForestSource<T>& source, int64_t root, std::vector<uint8_t>& state, std::vector<int64_t>& order) {
  constexpr uint8_t kOpen = 1, kDone = 2;
  const auto size = static_cast<int64_t>(source.nodes.size());
  Require(root >= 0 && root < size, "tree root {} is outside {} nodes", root, size);
  std::vector<std::pair<int64_t, int>> stack = {{root, 0}};
  if (state[static_cast<size_t>(root)] == kDone) return;
  state[static_cast<size_t>(root)] = kOpen;
  while (!stack.empty()) {
    auto& [at, visited] = stack.back();
    const auto& node = source.nodes[static_cast<size_t>(at)];
    if (node.branch == Branch::kLeaf || visited == 2) {
      state[static_cast<size_t>(at)] = kDone;
      order.push_back(at);
      stack.pop_back();
      continue;
    }
    const int64_t child = visited++ == 0 ? node.on_true : node.on_false;
    Require(child >= 0 && child < size, "node {}: its child {} is outside {} nodes", at, child, size);
    uint8_t& seen = state[static_cast<size_t>(child)];
    Require(seen != kOpen, "node {} is below itself: the tree has a cycle", child);
    if (seen == kDone) continue;
    seen = kOpen;
    stack.emplace_back(child, 0);
  }
}

}  // namespace

Aggregate ParseAggregate(std::string_view name) {
  if (name == "SUM") return Aggregate::kSum;
  if (name == "AVERAGE") return Aggregate::kAverage;
  if (name == "MIN") return Aggregate::kMin;
  if (name == "MAX") return Aggregate::kMax;
  Fail(ErrorCode::kInvalidGraph, "aggregate_function is '{}', AVERAGE, SUM, MIN or MAX is expected", name);
}

template <class T>
Forest<T>::Forest(const ForestSource<T>& source, Aggregate aggregate) : aggregate_(aggregate), targets_(source.targets) {
  Require(targets_ >= 1 && targets_ <= std::numeric_limits<int32_t>::max(), "the ensemble has {} targets", targets_);
  Flatten(source);
}

template <class T>
void Forest<T>::Flatten(const ForestSource<T>& source) {
  std::vector<uint8_t> state(source.nodes.size(), 0);
  std::vector<int64_t> order;
  std::vector<uint32_t> position(source.nodes.size(), 0);
  for (const int64_t root : source.roots) {
    const size_t first = order.size();
    CheckTree(source, root, state, order);
    std::reverse(order.begin() + static_cast<std::ptrdiff_t>(first), order.end());  // parents before children
  }
  Require(order.size() < (size_t{1} << 31), "the ensemble has {} nodes", order.size());
  for (size_t i = 0; i < order.size(); ++i) position[static_cast<size_t>(order[i])] = static_cast<uint32_t>(i);
  for (const int64_t root : source.roots) roots_.push_back(position[static_cast<size_t>(root)]);

  const bool any_member = std::any_of(source.nodes.begin(), source.nodes.end(),
                                      [](const auto& node) { return node.branch == Branch::kMember; });
  bool all_leq = true, all_lt = true;
  simple_ = targets_ == 1 && (aggregate_ == Aggregate::kSum || aggregate_ == Aggregate::kAverage);
  for (const int64_t index : order) {
    const auto& from = source.nodes[static_cast<size_t>(index)];
    const auto self = static_cast<uint32_t>(nodes_.size());
    Node node{from.value, 0, {self, self}};
    first_vote_.push_back(static_cast<uint32_t>(votes_.size()));
    if (any_member) first_member_.push_back(static_cast<uint32_t>(members_.size()));
    if (from.branch == Branch::kLeaf) {
      for (size_t i = 0; i < from.num_votes; ++i) {
        const auto& vote = source.votes[from.first_vote + i];
        Require(vote.target >= 0 && vote.target < targets_, "a leaf votes for target {}, there are {}", vote.target, targets_);
        votes_.push_back({static_cast<uint32_t>(vote.target), vote.weight});
      }
      simple_ &= from.num_votes == 1;
      node.value = from.num_votes == 1 ? source.votes[from.first_vote].weight : 0;
    } else {
      Require(from.feature >= 0 && from.feature < (int64_t{1} << 28), "node {} tests feature {}", index, from.feature);
      min_features_ = std::max(min_features_, from.feature + 1);
      const uint32_t test = TestOf(from.branch) | (from.missing_tracks_true ? kUnordered : 0);
      node.feature_and_test = static_cast<uint32_t>(from.feature) << 4 | test;
      node.children[0] = position[static_cast<size_t>(from.on_false)];
      node.children[1] = position[static_cast<size_t>(from.on_true)];
      all_leq &= test == (kLess | kEqual);
      all_lt &= test == kLess;
      if (from.branch == Branch::kMember) {
        const auto begin = source.members.begin() + static_cast<std::ptrdiff_t>(from.first_member);
        members_.insert(members_.end(), begin, begin + static_cast<std::ptrdiff_t>(from.num_members));
        std::sort(members_.begin() + first_member_.back(), members_.end());
      }
    }
    nodes_.push_back(node);
  }
  first_vote_.push_back(static_cast<uint32_t>(votes_.size()));
  if (any_member) first_member_.push_back(static_cast<uint32_t>(members_.size()));
  walk_ = any_member ? Walk::kMember : all_leq ? Walk::kLeq : all_lt ? Walk::kLt : Walk::kAny;
}

template <class T>
template <typename Forest<T>::Walk kWalk>
inline bool Forest<T>::GoesTrue(const Node& node, uint32_t index, T x) const {
  if constexpr (kWalk == Walk::kLeq) return x <= node.value;
  if constexpr (kWalk == Walk::kLt) return x < node.value;
  const uint32_t less = x < node.value, equal = x == node.value, greater = x > node.value;
  const uint32_t relation = less * kLess | equal * kEqual | greater * kGreater | (1 - (less | equal | greater)) * kUnordered;
  const uint32_t test = node.feature_and_test & 15;
  if constexpr (kWalk == Walk::kMember) {
    const uint32_t begin = first_member_[index], end = first_member_[index + 1];
    if (begin != end || (test & ~kUnordered) == 0) {
      if (x != x) return (test & kUnordered) != 0;
      return std::binary_search(members_.begin() + begin, members_.begin() + end, x);
    }
  }
  return (relation & test) != 0;
}

/// Walks kLanes (row, tree) pairs at once: their loads overlap, and no branch depends on the data.
template <class T>
template <typename Forest<T>::Walk kWalk>
void Forest<T>::FindLeaves(const T* const* rows, uint32_t* indices) const {
  const Node* const nodes = nodes_.data();
  uint32_t moved;
  do {
    moved = 0;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t at = indices[lane];
      const Node& node = nodes[at];
      const uint32_t next = node.children[GoesTrue<kWalk>(node, at, rows[lane][node.feature_and_test >> 4])];
      moved |= next ^ at;
      indices[lane] = next;
    }
  } while (moved != 0);
}

template <class T>
void Forest<T>::Add(uint32_t leaf, T* scores, uint8_t* voted) const {
  for (uint32_t i = first_vote_[leaf]; i < first_vote_[leaf + 1]; ++i) {
    const Vote vote = votes_[i];
    T& score = scores[vote.target];
    switch (aggregate_) {
      case Aggregate::kAverage:
      case Aggregate::kSum:
        score += vote.weight;
        break;
      case Aggregate::kMin:
        score = voted[vote.target] == 0 || vote.weight < score ? vote.weight : score;
        break;
      case Aggregate::kMax:
        score = voted[vote.target] == 0 || vote.weight > score ? vote.weight : score;
        break;
    }
    voted[vote.target] = 1;
  }
}

template <class T>
template <typename Forest<T>::Walk kWalk>
void Forest<T>::Block(const T* x, int64_t rows, int64_t features, size_t first_tree, size_t last_tree, Accumulator into) const {
  const T* lanes[kLanes];
  uint32_t at[kLanes];
  const auto add = [&](int64_t row, uint32_t leaf) {
    if (simple_) {
      into.scores[row] += nodes_[leaf].value;
    } else {
      Add(leaf, into.scores + row * targets_, into.voted + row * targets_);
    }
  };
  const auto whole = static_cast<size_t>(rows / kLanes * kLanes);
  if (whole > 0) {
    // A tree stays in the cache while all rows of the block go through it.
    for (size_t tree = first_tree; tree < last_tree; ++tree) {
      for (size_t row = 0; row < whole; row += kLanes) {
        for (size_t lane = 0; lane < kLanes; ++lane) {
          lanes[lane] = x + static_cast<int64_t>(row + lane) * features;
          at[lane] = roots_[tree];
        }
        FindLeaves<kWalk>(lanes, at);
        for (size_t lane = 0; lane < kLanes; ++lane) add(static_cast<int64_t>(row + lane), at[lane]);
      }
    }
  }
  for (auto row = static_cast<int64_t>(whole); row < rows; ++row) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = x + row * features;
    for (size_t tree = first_tree; tree < last_tree; tree += kLanes) {
      const size_t count = std::min<size_t>(kLanes, last_tree - tree);
      for (size_t lane = 0; lane < kLanes; ++lane) at[lane] = roots_[tree + (lane < count ? lane : 0)];
      FindLeaves<kWalk>(lanes, at);
      for (size_t lane = 0; lane < count; ++lane) add(row, at[lane]);
    }
  }
}

template <class T>
void Forest<T>::RunBlock(const T* x, int64_t rows, int64_t features, size_t first_tree, size_t last_tree,
                         Accumulator into) const {
  switch (walk_) {
    case Walk::kLeq:
      return Block<Walk::kLeq>(x, rows, features, first_tree, last_tree, into);
    case Walk::kLt:
      return Block<Walk::kLt>(x, rows, features, first_tree, last_tree, into);
    case Walk::kAny:
      return Block<Walk::kAny>(x, rows, features, first_tree, last_tree, into);
    case Walk::kMember:
      return Block<Walk::kMember>(x, rows, features, first_tree, last_tree, into);
  }
}

template <class T>
void Forest<T>::Start(Accumulator into, int64_t rows) const {
  std::fill_n(into.scores, rows * targets_, T{0});
  std::fill_n(into.voted, rows * targets_, static_cast<uint8_t>(simple_ && !roots_.empty() ? 1 : 0));
}

template <class T>
void Forest<T>::Merge(const T* scores, const uint8_t* voted, T* into_scores, uint8_t* into_voted) const {
  for (int64_t i = 0; i < targets_; ++i) {
    if (voted[i] == 0) continue;
    T& score = into_scores[i];
    if (aggregate_ == Aggregate::kMin) {
      score = into_voted[i] == 0 ? scores[i] : std::min(score, scores[i]);
    } else if (aggregate_ == Aggregate::kMax) {
      score = into_voted[i] == 0 ? scores[i] : std::max(score, scores[i]);
    } else {
      score += scores[i];
    }
    into_voted[i] = 1;
  }
}

template <class T>
void Forest<T>::Evaluate(KernelContext& context, const T* x, int64_t rows, int64_t features,
                         FunctionRef<void(int64_t, std::span<T>, std::span<const uint8_t>)> finish) const {
  Require(features >= min_features_, "X has {} features, the trees test feature {}", features, min_features_ - 1);
  if (rows == 0) return;
  // A walk loads feature 0 at a leaf even where no node tests any feature.
  const T nothing[1] = {};
  if (features == 0) x = nothing;
  const int64_t threads = context.threads().num_threads();
  const auto count = static_cast<size_t>(targets_);
  const double walk_ns = 25;
  const auto finish_row = [&](int64_t row, T* scores, const uint8_t* voted) {
    if (aggregate_ == Aggregate::kAverage) {
      for (size_t i = 0; i < count; ++i) scores[i] /= static_cast<T>(trees());
    }
    finish(row, std::span(scores, count), std::span(voted, count));
  };
  if (rows >= kLanes * threads || trees() < 2 * threads || threads == 1) {
    const int64_t block = std::clamp<int64_t>(rows / threads / kLanes * kLanes, kLanes, 128);
    const int64_t blocks = CeilDiv(rows, block);
    const double cost = walk_ns / 4 * static_cast<double>(trees() * block);
    context.threads().ParallelFor(blocks, cost, [&](int64_t begin, int64_t end) {
      const Accumulator into{context.scratch<T>(static_cast<size_t>(block) * count).data(),
                             context.scratch<uint8_t>(static_cast<size_t>(block) * count).data()};
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * block, of_block = std::min(block, rows - first);
        Start(into, of_block);
        RunBlock(x + first * features, of_block, features, 0, roots_.size(), into);
        for (int64_t row = 0; row < of_block; ++row) {
          finish_row(first + row, into.scores + row * targets_, into.voted + row * targets_);
        }
      }
    });
    return;
  }
  // Few rows, many trees: each part of the trees sums for itself, and parts are added in a fixed order.
  const int64_t parts = std::min<int64_t>(threads * 2, trees() / kLanes + 1);
  const size_t stride = static_cast<size_t>(rows) * count;
  T* scores = context.scratch<T>(CheckedMul(stride, static_cast<size_t>(parts))).data();
  uint8_t* voted = context.scratch<uint8_t>(CheckedMul(stride, static_cast<size_t>(parts))).data();
  context.threads().ParallelFor(parts, walk_ns * static_cast<double>(rows * trees() / parts), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const Accumulator into{scores + static_cast<size_t>(part) * stride, voted + static_cast<size_t>(part) * stride};
      Start(into, rows);
      RunBlock(x, rows, features, static_cast<size_t>(trees() * part / parts), static_cast<size_t>(trees() * (part + 1) / parts),
               into);
    }
  });
  for (int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<size_t>(row) * count;
    for (size_t part = 1; part < static_cast<size_t>(parts); ++part) {
      Merge(scores + part * stride + at, voted + part * stride + at, scores + at, voted + at);
    }
    finish_row(row, scores + at, voted + at);
  }
}

template class Forest<float>;
template class Forest<double>;

}  // namespace tessera::cpu
