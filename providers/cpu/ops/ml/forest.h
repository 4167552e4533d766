#pragma once

// Decision trees, flattened for the caches, behind TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/provider/function_ref.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

enum class Branch : uint8_t { kLeq = 0, kLt = 1, kGte = 2, kGt = 3, kEq = 4, kNeq = 5, kMember = 6, kLeaf = 7 };
enum class Aggregate : uint8_t { kAverage = 0, kSum = 1, kMin = 2, kMax = 3 };

Aggregate ParseAggregate(std::string_view name);

/// A forest as attributes describe it, in one common form. Positions index `nodes`.
template <class T>
struct ForestSource {
  struct Node {
    T value = 0;
    uint32_t feature = 0;
    uint32_t on_true = 0;
    uint32_t on_false = 0;
    uint32_t first = 0;  // leaves: votes [first, first + count); kMember: members
    uint32_t count = 0;
    Branch branch = Branch::kLeaf;
    bool missing_tracks_true = false;
  };
  struct Vote {
    int64_t target = 0;
    T weight = 0;
  };
  std::vector<Node> nodes;
  std::vector<Vote> votes;
  std::vector<T> members;
  std::vector<uint32_t> roots;
  int64_t targets = 1;
};

/// `number` as nodes keep theirs; throws Error naming it when it is negative or too large.
uint32_t ForestNumber(int64_t number, const char* what);

/// Bits of tests: how a feature lies to a node's value.
inline constexpr uint32_t kTestLess = 1, kTestEqual = 2, kTestGreater = 4, kTestUnordered = 8;
inline constexpr uint32_t kTreeLeaf = uint32_t{1} << 31;

template <class T>
struct TreeNode {
  T value;
  uint32_t feature_and_test;  // feature << 4 | the tests that lead to the true child
  uint32_t children[2];       // false, true: a node, or kTreeLeaf | a leaf
};

class SmallTrees;

/// T is float or double: of thresholds, features and scores.
template <class T>
class Forest {
 public:
  Forest();
  ~Forest();
  Forest(Forest&&) noexcept;
  Forest& operator=(Forest&&) noexcept;
  /// Throws Error when children, features or targets are out of range, or nodes form a cycle.
  Forest(const ForestSource<T>& source, Aggregate aggregate);

  int64_t targets() const noexcept { return targets_; }
  int64_t trees() const noexcept { return static_cast<int64_t>(roots_.size()); }
  /// Features that X must have at least.
  int64_t min_features() const noexcept { return min_features_; }

  /// Takes a row's scores, which it may change, and which targets got any vote.
  using Finish = FunctionRef<void(int64_t row, std::span<T> scores, std::span<const uint8_t> voted)>;
  /// Calls `finish` for each row of x, from many threads, with the aggregated votes of all trees.
  void Evaluate(KernelContext& context, const T* x, int64_t rows, int64_t features, Finish finish) const;

 private:
  using Node = TreeNode<T>;
  struct Vote {
    uint32_t target;
    T weight;
  };
  struct Accumulator {
    T* scores;       // [rows of the block, targets]
    uint8_t* voted;  // the same
  };
  enum class Walk : uint8_t {
    kLeq,
    kLeqOrMissing,
    kLt,
    kAny,
    kMember
  };  // the tests of all nodes; kLeqOrMissing: NaN by node

  bool one_target() const noexcept { return !tree_targets_.empty(); }

  void Flatten(const ForestSource<T>& source);
  void SetTreeTargets(const ForestSource<T>& source, std::span<const uint32_t> order);
  void AddNode(const ForestSource<T>& source, const typename ForestSource<T>::Node& from,
               std::span<const uint32_t> node_ids);
  void AddLeaf(const ForestSource<T>& source, const typename ForestSource<T>::Node& from);
  template <Walk kWalk>
  bool GoesTrue(const Node& node, uint32_t index, T x) const;
  template <Walk kWalk>
  void FindLeaves(const T* x, int64_t rows, int64_t features, std::span<const uint32_t> roots, uint32_t* leaves) const;
  template <Walk kWalk>
  void FindLeavesOfMany(const T* x, int64_t rows, int64_t features, std::span<const uint32_t> roots,
                        uint32_t* leaves) const;
  template <Walk kWalk>
  void Run(const T* x, int64_t rows, int64_t features, size_t first_tree, size_t last_tree, Accumulator into) const;
  void RunBlock(const T* x, int64_t rows, int64_t features, size_t first_tree, size_t last_tree, Accumulator into) const;
  void ShareRows(KernelContext& context, const T* x, int64_t rows, int64_t features, Finish finish) const;
  void ShareTrees(KernelContext& context, const T* x, int64_t rows, int64_t features, Finish finish) const;
  void FinishRow(int64_t row, T* scores, const uint8_t* voted, Finish finish) const;
  size_t SmallTreesScratch() const;
  void RunSmallTrees(const T* x, int64_t rows, int64_t features, T* columns, Accumulator into) const;
  void AddSmallTrees(const T* columns, int64_t rows, T* scores, Accumulator into) const;
  void AddLeaves(const uint32_t* leaves, int64_t stride, size_t first_tree, size_t last_tree, int64_t rows,
                 Accumulator into) const;
  void AddVotes(uint32_t leaf, T* scores, uint8_t* voted) const;
  void Start(Accumulator into, int64_t rows) const;
  void Merge(const T* scores, const uint8_t* voted, T* into_scores, uint8_t* into_voted) const;

  std::vector<Node> nodes_;
  std::vector<uint32_t> roots_;       // as children
  std::vector<T> leaf_values_;        // by leaf, where trees have one target each
  std::vector<uint32_t> first_vote_;  // by leaf, where they do not; one past the end at the back
  std::vector<Vote> votes_;
  std::vector<uint32_t> first_member_;       // by node, when any tests membership
  std::vector<T> members_;                   // sorted within a node
  std::unique_ptr<SmallTrees> small_trees_;  // for many rows, where all trees are small
  Aggregate aggregate_ = Aggregate::kSum;
  Walk walk_ = Walk::kLeq;
  /// Sums, where all leaves of a tree vote once, for the same target: that target by tree, and which targets get votes.
  std::vector<uint32_t> tree_targets_;
  std::vector<uint8_t> voted_;
  int64_t targets_ = 1;
  int64_t min_features_ = 0;
};

extern template class Forest<float>;
extern template class Forest<double>;

}  // namespace tessera::cpu
