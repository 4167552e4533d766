#include "cpu/ops/ml/forest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/ml/forest_order.h"
#include "cpu/ops/ml/small_trees.h"

namespace tessera::cpu {
namespace {

/// Rows of a block: at least, so that it is worth handing out; at most, so that it stays in the cache beside a tree.
constexpr int64_t kRows = 8, kMostRows = 128;
/// Rows from which on testing all nodes of small trees pays.
constexpr int64_t kLeastForSmallTrees = 16;
/// Costs in nanoseconds: of one row in one tree, alone, among many and where trees are small; of what follows for the row.
constexpr double kWalkNs = 20, kSharedWalkNs = 10, kSmallTreeNs = 1, kFinishNs = 20;
/// Targets whose marks are worth a table.
constexpr int64_t kMostMarkedTargets = 4096;
/// Leaves found before their votes are added.
constexpr int64_t kMostLeaves = 2048;
/// Walks at once.
constexpr int64_t kLanes = 8;

uint32_t TestOf(Branch branch) {
  switch (branch) {
    case Branch::kLeq: return kTestLess | kTestEqual;
    case Branch::kLt: return kTestLess;
    case Branch::kGte: return kTestGreater | kTestEqual;
    case Branch::kGt: return kTestGreater;
    case Branch::kEq: return kTestEqual;
    case Branch::kNeq: return kTestLess | kTestGreater | kTestUnordered;
    case Branch::kMember:
    case Branch::kLeaf: return 0;
  }
  return 0;
}

}  // namespace

Aggregate ParseAggregate(std::string_view name) {
  if (name == "SUM") return Aggregate::kSum;
  if (name == "AVERAGE") return Aggregate::kAverage;
  if (name == "MIN") return Aggregate::kMin;
  if (name == "MAX") return Aggregate::kMax;
  Fail(ErrorCode::kInvalidGraph, "aggregate_function is '{}', AVERAGE, SUM, MIN or MAX is expected", name);
}

uint32_t ForestNumber(int64_t number, const char* what) {
  Require(number >= 0 && number < (int64_t{1} << 28), "{} is {}; 0 to 2^28 - 1 is expected", what, number);
  return static_cast<uint32_t>(number);
}

template <class T>
Forest<T>::Forest(const ForestSource<T>& source, Aggregate aggregate) : aggregate_(aggregate), targets_(source.targets) {
  Require(targets_ >= 1 && targets_ <= std::numeric_limits<int32_t>::max(), "the ensemble has {} targets", targets_);
  // All of them: callers look at votes too, and an inner node may carry some that no row ever reaches.
  for (const auto& vote : source.votes) {
    Require(vote.target >= 0 && vote.target < targets_, "a leaf votes for target {}, there are {}", vote.target, targets_);
  }
  Flatten(source);
  if constexpr (std::is_same_v<T, float>) {
    auto small = std::make_unique<SmallTrees>(nodes_, roots_);
    if (!small->empty()) small_trees_ = std::move(small);
  }
}

template <class T>
Forest<T>::Forest() = default;
template <class T>
Forest<T>::~Forest() = default;
template <class T>
Forest<T>::Forest(Forest&&) noexcept = default;
template <class T>
Forest<T>& Forest<T>::operator=(Forest&&) noexcept = default;

template <class T>
void Forest<T>::Flatten(const ForestSource<T>& source) {
  const std::vector<uint32_t> order = OrderForest(source);
  std::vector<uint32_t> node_ids(source.nodes.size(), 0);
  uint32_t num_nodes = 0, num_leaves = 0;
  bool any_member = false;
  for (const uint32_t index : order) {
    const auto& from = source.nodes[index];
    const bool is_leaf = from.branch == Branch::kLeaf;
    node_ids[index] = is_leaf ? kTreeLeaf | num_leaves++ : num_nodes++;
    any_member |= from.branch == Branch::kMember;
  }
  SetTreeTargets(source, order);
  walk_ = any_member ? Walk::kMember : Walk::kLeq;
  nodes_.reserve(num_nodes);
  (one_target() ? leaf_values_.reserve(num_leaves) : first_vote_.reserve(num_leaves + 1));
  for (const uint32_t root : source.roots) roots_.push_back(node_ids[root]);
  for (const uint32_t index : order) {
    const auto& from = source.nodes[index];
    from.branch == Branch::kLeaf ? AddLeaf(source, from) : AddNode(source, from, node_ids);
  }
  first_vote_.push_back(static_cast<uint32_t>(votes_.size()));
  first_member_.push_back(static_cast<uint32_t>(members_.size()));
  if (any_member) return;
  const auto all = [&](uint32_t test, uint32_t mask) {
    return std::ranges::all_of(nodes_, [=](const Node& node) { return (node.feature_and_test & mask) == test; });
  };
  constexpr uint32_t kOrdered = kTestLess | kTestEqual | kTestGreater, kAll = kOrdered | kTestUnordered;
  walk_ = all(kTestLess | kTestEqual, kAll)       ? Walk::kLeq
          : all(kTestLess | kTestEqual, kOrdered) ? Walk::kLeqOrMissing
          : all(kTestLess, kAll)                  ? Walk::kLt
                                                  : Walk::kAny;
}

template <class T>
void Forest<T>::SetTreeTargets(const ForestSource<T>& source, std::span<const uint32_t> order) {
  if ((aggregate_ != Aggregate::kSum && aggregate_ != Aggregate::kAverage) || targets_ > kMostMarkedTargets) return;
  constexpr int64_t kSeveral = -1;
  std::vector<int64_t> targets(source.nodes.size(), kSeveral);
  for (size_t i = order.size(); i-- > 0;) {  // what is below a node comes before it
    const auto& node = source.nodes[order[i]];
    int64_t& target = targets[order[i]];
    if (node.branch != Branch::kLeaf) {
      if (targets[node.on_true] == targets[node.on_false]) target = targets[node.on_true];
    } else if (node.count == 1) {
      target = source.votes[node.first].target;
    }
  }
  for (const uint32_t root : source.roots) {
    if (targets[root] < 0 || targets[root] >= targets_) {
      tree_targets_.clear();
      return;
    }
    tree_targets_.push_back(static_cast<uint32_t>(targets[root]));
  }
  voted_.resize(static_cast<size_t>(targets_));
  for (const uint32_t target : tree_targets_) voted_[target] = 1;
}

template <class T>
void Forest<T>::AddNode(const ForestSource<T>& source, const typename ForestSource<T>::Node& from,
                        std::span<const uint32_t> node_ids) {
  min_features_ = std::max(min_features_, int64_t{from.feature} + 1);
  const uint32_t test = TestOf(from.branch) | (from.missing_tracks_true ? kTestUnordered : 0);
  nodes_.push_back({from.value, from.feature << 4 | test, {node_ids[from.on_false], node_ids[from.on_true]}});
  if (walk_ != Walk::kMember) return;
  first_member_.push_back(static_cast<uint32_t>(members_.size()));
  if (from.branch != Branch::kMember) return;
  const auto begin = source.members.begin() + from.first;
  members_.insert(members_.end(), begin, begin + from.count);
  std::sort(members_.begin() + first_member_.back(), members_.end());
}

template <class T>
void Forest<T>::AddLeaf(const ForestSource<T>& source, const typename ForestSource<T>::Node& from) {
  if (!one_target()) first_vote_.push_back(static_cast<uint32_t>(votes_.size()));
  for (uint32_t i = 0; i < from.count; ++i) {
    const auto& vote = source.votes[from.first + i];
    if (one_target()) {
      leaf_values_.push_back(vote.weight);
    } else {
      votes_.push_back({static_cast<uint32_t>(vote.target), vote.weight});
    }
  }
}

template <class T>
template <typename Forest<T>::Walk kWalk>
inline bool Forest<T>::GoesTrue(const Node& node, uint32_t index, T x) const {
  if constexpr (kWalk == Walk::kLeq) return x <= node.value;
  if constexpr (kWalk == Walk::kLt) return x < node.value;
  if constexpr (kWalk == Walk::kLeqOrMissing)
    return (x <= node.value) | ((x != x) & ((node.feature_and_test & kTestUnordered) != 0));
  const uint32_t less = x < node.value, equal = x == node.value, greater = x > node.value;
  const uint32_t relation =
      less * kTestLess | equal * kTestEqual | greater * kTestGreater | (1 - (less | equal | greater)) * kTestUnordered;
  const uint32_t test = node.feature_and_test & 15;
  if constexpr (kWalk == Walk::kMember) {
    const uint32_t begin = first_member_[index], end = first_member_[index + 1];
    if (begin != end || (test & ~kTestUnordered) == 0) {
      if (x != x) return (test & kTestUnordered) != 0;
      return std::binary_search(members_.begin() + begin, members_.begin() + end, x);
    }
  }
  return (relation & test) != 0;
}

/// The same, for groups of kLanes rows that go down a tree side by side. No branch depends on the data: with many rows none
/// could be foreseen.
template <class T>
template <typename Forest<T>::Walk kWalk>
void Forest<T>::FindLeavesOfMany(const T* x, int64_t rows, int64_t features, std::span<const uint32_t> roots,
                                 uint32_t* leaves) const {
  const Node* const nodes = nodes_.data();
  for (const uint32_t root : roots) {
    for (int64_t row = 0; row < rows; row += kLanes, leaves += kLanes) {
      const T* const lanes = x + row * features;
      uint32_t at[kLanes];
      std::fill_n(at, kLanes, root);
      uint32_t ended = root;
      while ((ended & kTreeLeaf) == 0) {
        ended = kTreeLeaf;
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const uint32_t stay = 0 - (at[lane] >> 31);  // all bits at a leaf
          const uint32_t index = at[lane] & ~stay;
          const Node& node = nodes[index];
          const uint32_t next =
              node.children[GoesTrue<kWalk>(node, index, lanes[lane * features + (node.feature_and_test >> 4)])];
          at[lane] = (at[lane] & stay) | (next & ~stay);
          ended &= at[lane];
        }
      }
      for (int64_t lane = 0; lane < kLanes; ++lane) leaves[lane] = at[lane] ^ kTreeLeaf;
    }
  }
}

/// Where each of `rows` ends in each tree: leaves [roots, rows]. Walks several at once, so that their loads overlap; a walk
/// that has ended makes place for the next.
template <class T>
template <typename Forest<T>::Walk kWalk>
void Forest<T>::FindLeaves(const T* x, int64_t rows, int64_t features, std::span<const uint32_t> roots,
                           uint32_t* leaves) const {
  struct Lane {
    uint32_t at;
    const T* row;
    uint32_t* leaf;
  } lanes[kLanes];
  const Node* const nodes = nodes_.data();
  size_t tree = 0;
  int64_t row = 0, live = 0;
  const auto start = [&](Lane& lane) {
    while (tree < roots.size()) {
      lane = {roots[tree], x + row * features, leaves++};
      if (++row == rows) {
        row = 0;
        ++tree;
      }
      if ((lane.at & kTreeLeaf) == 0) return true;
      *lane.leaf = lane.at ^ kTreeLeaf;
    }
    return false;
  };
  while (live < kLanes && start(lanes[live])) ++live;
  while (live > 0) {
    for (int64_t i = 0; i < live; ++i) {
      Lane& lane = lanes[i];
      const Node& node = nodes[lane.at];
      lane.at = node.children[GoesTrue<kWalk>(node, lane.at, lane.row[node.feature_and_test >> 4])];
      if ((lane.at & kTreeLeaf) == 0) continue;
      *lane.leaf = lane.at ^ kTreeLeaf;
      if (!start(lane)) lane = lanes[--live];
    }
  }
}

template <class T>
template <typename Forest<T>::Walk kWalk>
void Forest<T>::Run(const T* x, int64_t rows, int64_t features, size_t first_tree, size_t last_tree,
                    Accumulator into) const {
  uint32_t leaves[kMostLeaves];
  const auto step = static_cast<size_t>(kMostLeaves / rows);
  for (size_t first = first_tree; first < last_tree; first += step) {
    const size_t last = std::min(last_tree, first + step);
    const auto roots = std::span(roots_).subspan(first, last - first);
    if (rows % kLanes == 0) {
      FindLeavesOfMany<kWalk>(x, rows, features, roots, leaves);
    } else {
      FindLeaves<kWalk>(x, rows, features, roots, leaves);
    }
    AddLeaves(leaves, rows, first, last, rows, into);
    CancellationPoint();
  }
}

template <class T>
void Forest<T>::RunBlock(const T* x, int64_t rows, int64_t features, size_t first_tree, size_t last_tree,
                         Accumulator into) const {
  switch (walk_) {
    case Walk::kLeq: return Run<Walk::kLeq>(x, rows, features, first_tree, last_tree, into);
    case Walk::kLeqOrMissing: return Run<Walk::kLeqOrMissing>(x, rows, features, first_tree, last_tree, into);
    case Walk::kLt: return Run<Walk::kLt>(x, rows, features, first_tree, last_tree, into);
    case Walk::kAny: return Run<Walk::kAny>(x, rows, features, first_tree, last_tree, into);
    case Walk::kMember: return Run<Walk::kMember>(x, rows, features, first_tree, last_tree, into);
  }
}

/// leaves [trees, stride]: in the order of the trees, whatever the number of rows.
template <class T>
void Forest<T>::AddLeaves(const uint32_t* leaves, int64_t stride, size_t first_tree, size_t last_tree, int64_t rows,
                          Accumulator into) const {
  if (one_target() && targets_ == 1 && stride == 1) {
    T sum = *into.scores;
    for (size_t tree = first_tree; tree < last_tree; ++tree) sum += leaf_values_[*leaves++];
    *into.scores = sum;
    return;
  }
  for (size_t tree = first_tree; tree < last_tree; ++tree, leaves += stride) {
    if (one_target()) {
      T* scores = into.scores + tree_targets_[tree];
      for (int64_t row = 0; row < rows; ++row) scores[row * targets_] += leaf_values_[leaves[row]];
    } else {
      for (int64_t row = 0; row < rows; ++row)
        AddVotes(leaves[row], into.scores + row * targets_, into.voted + row * targets_);
    }
  }
}

template <class T>
void Forest<T>::AddVotes(uint32_t leaf, T* scores, uint8_t* voted) const {
  for (uint32_t i = first_vote_[leaf]; i < first_vote_[leaf + 1]; ++i) {
    const Vote vote = votes_[i];
    T& score = scores[vote.target];
    switch (aggregate_) {
      case Aggregate::kAverage:
      case Aggregate::kSum: score += vote.weight; break;
      case Aggregate::kMin: score = voted[vote.target] == 0 || vote.weight < score ? vote.weight : score; break;
      case Aggregate::kMax: score = voted[vote.target] == 0 || vote.weight > score ? vote.weight : score; break;
    }
    voted[vote.target] = 1;
  }
}

/// columns: scratch for the features that trees test, and for scores by target, kSmallTreeRows of each.
template <class T>
void Forest<T>::RunSmallTrees(const T* x, int64_t rows, int64_t features, T* columns, Accumulator into) const {
  if constexpr (std::is_same_v<T, float>) {
    float* scores = columns + small_trees_->num_columns() * kSmallTreeRows;
    for (int64_t first = 0; first < rows; first += kSmallTreeRows) {
      const int64_t count = std::min(kSmallTreeRows, rows - first);
      CancellationPoint();
      small_trees_->Columns(x + first * features, count, features, columns);
      AddSmallTrees(columns, count, scores, {into.scores + first * targets_, into.voted + first * targets_});
    }
  }
}

template <class T>
size_t Forest<T>::SmallTreesScratch() const {
  return (small_trees_->num_columns() + (one_target() ? static_cast<size_t>(targets_) : 0)) * kSmallTreeRows;
}

template <class T>
void Forest<T>::AddSmallTrees(const T* columns, int64_t rows, T* scores, Accumulator into) const {
  if constexpr (std::is_same_v<T, float>) {
    if (one_target()) {
      std::fill_n(scores, targets_ * kSmallTreeRows, 0.0f);
      small_trees_->AddLeaves(columns, tree_targets_, leaf_values_.data(), scores);
      for (int64_t target = 0; target < targets_; ++target) {
        for (int64_t row = 0; row < rows; ++row)
          into.scores[row * targets_ + target] = scores[target * kSmallTreeRows + row];
      }
      return;
    }
    constexpr size_t kStep = kMostLeaves / kSmallTreeRows;
    uint32_t leaves[kMostLeaves];
    for (size_t first = 0; first < roots_.size(); first += kStep) {
      const size_t last = std::min(roots_.size(), first + kStep);
      small_trees_->FindLeaves(columns, first, last, leaves);
      AddLeaves(leaves, kSmallTreeRows, first, last, rows, into);
    }
  }
}

template <class T>
void Forest<T>::Start(Accumulator into, int64_t rows) const {
  std::fill_n(into.scores, rows * targets_, T{0});
  if (!one_target()) {
    std::fill_n(into.voted, rows * targets_, uint8_t{0});
    return;
  }
  for (int64_t row = 0; row < rows; ++row) std::ranges::copy(voted_, into.voted + row * targets_);
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
void Forest<T>::Evaluate(KernelContext& context, const T* x, int64_t rows, int64_t features, Finish finish) const {
  Require(features >= min_features_, "X has {} features, the trees test feature {}", features, min_features_ - 1);
  if (rows == 0) return;
  const int64_t threads = context.threads().num_threads();
  if (rows >= std::min(kRows * threads, kMostRows) || trees() < 2 * threads || threads == 1) {
    ShareRows(context, x, rows, features, finish);
  } else {
    ShareTrees(context, x, rows, features, finish);
  }
}

template <class T>
void Forest<T>::FinishRow(int64_t row, T* scores, const uint8_t* voted, Finish finish) const {
  const auto count = static_cast<size_t>(targets_);
  if (aggregate_ == Aggregate::kAverage) {
    for (size_t i = 0; i < count; ++i) scores[i] /= static_cast<T>(trees());
  }
  finish(row, std::span(scores, count), std::span(voted, count));
}

template <class T>
void Forest<T>::ShareRows(KernelContext& context, const T* x, int64_t rows, int64_t features, Finish finish) const {
  const int64_t block = std::clamp<int64_t>(rows / context.threads().num_threads() / kRows * kRows, kRows, kMostRows);
  const bool small = small_trees_ != nullptr && block >= kLeastForSmallTrees;
  const double cost =
      static_cast<double>(block) * ((small ? kSmallTreeNs : kSharedWalkNs) * static_cast<double>(trees()) + kFinishNs);
  context.threads().ParallelFor(CeilDiv(rows, block), cost, [&](int64_t begin, int64_t end) {
    const auto size = static_cast<size_t>(block * targets_);
    const Accumulator into{context.scratch<T>(size).data(), context.scratch<uint8_t>(size).data()};
    T* const columns = small ? context.scratch<T>(SmallTreesScratch()).data() : nullptr;
    for (int64_t first = begin * block; first < std::min(rows, end * block); first += block) {
      const int64_t of_block = std::min(block, rows - first);
      Start(into, of_block);
      if (small) {
        RunSmallTrees(x + first * features, of_block, features, columns, into);
      } else {
        RunBlock(x + first * features, of_block, features, 0, roots_.size(), into);
      }
      for (int64_t row = 0; row < of_block; ++row) {
        FinishRow(first + row, into.scores + row * targets_, into.voted + row * targets_, finish);
      }
    }
  });
}

/// Few rows, many trees: each part of the trees sums for itself, and parts are added in a fixed order.
template <class T>
void Forest<T>::ShareTrees(KernelContext& context, const T* x, int64_t rows, int64_t features, Finish finish) const {
  const int64_t parts = std::min<int64_t>(context.threads().num_threads() * 2, trees() / kRows + 1);
  const size_t stride = static_cast<size_t>(rows * targets_);
  T* scores = context.scratch<T>(CheckedMul(stride, static_cast<size_t>(parts))).data();
  uint8_t* voted = context.scratch<uint8_t>(CheckedMul(stride, static_cast<size_t>(parts))).data();
  context.threads().ParallelFor(
      parts, kWalkNs * static_cast<double>(rows * trees() / parts), [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          const Accumulator into{scores + static_cast<size_t>(part) * stride, voted + static_cast<size_t>(part) * stride};
          Start(into, rows);
          RunBlock(x, rows, features, static_cast<size_t>(trees() * part / parts),
                   static_cast<size_t>(trees() * (part + 1) / parts), into);
        }
      });
  for (int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<size_t>(row * targets_);
    for (size_t part = 1; part < static_cast<size_t>(parts); ++part) {
      Merge(scores + part * stride + at, voted + part * stride + at, scores + at, voted + at);
    }
    FinishRow(row, scores + at, voted + at, finish);
  }
}

template class Forest<float>;
template class Forest<double>;

}  // namespace tessera::cpu
