#pragma once

// Decision trees, flattened for the caches, behind TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor.

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/function_ref.h"
#include "tessera/kernel.h"

namespace tessera::cpu {

enum class Branch : uint8_t { kLeq = 0, kLt = 1, kGte = 2, kGt = 3, kEq = 4, kNeq = 5, kMember = 6, kLeaf = 7 };
enum class Aggregate : uint8_t { kAverage = 0, kSum = 1, kMin = 2, kMax = 3 };

Aggregate ParseAggregate(std::string_view name);

/// A forest as attributes describe it, in one common form. Positions index `nodes`.
template <class T>
struct ForestSource {
  struct Node {
    Branch branch = Branch::kLeaf;
    bool missing_tracks_true = false;
    int64_t feature = 0;
    T value = 0;
    int64_t on_true = -1;
    int64_t on_false = -1;
    size_t first_vote = 0;  // leaves: votes [first_vote, first_vote + votes)
    size_t num_votes = 0;
    size_t first_member = 0;  // kMember: members [first_member, first_member + num_members)
    size_t num_members = 0;
  };
  struct Vote {
    int64_t target = 0;
    T weight = 0;
  };
  std::vector<Node> nodes;
  std::vector<Vote> votes;
  std::vector<T> members;
  std::vector<int64_t> roots;
  int64_t targets = 1;
};

/// T is float or double: of thresholds, features and scores.
template <class T>
class Forest {
 public:
  Forest() = default;
  /// Throws Error when children, features or targets are out of range, or nodes form a cycle.
  Forest(const ForestSource<T>& source, Aggregate aggregate);

  int64_t targets() const noexcept { return targets_; }
  int64_t trees() const noexcept { return static_cast<int64_t>(roots_.size()); }
  /// Features that X must have at least.
  int64_t min_features() const noexcept { return min_features_; }

  /// Calls `finish(row, scores, voted)` for each row of x, from many threads: the aggregated votes of all trees, and which
  /// targets got any. `scores` may be changed.
  void Evaluate(KernelContext& context, const T* x, int64_t rows, int64_t features,
                FunctionRef<void(int64_t row, std::span<T> scores, std::span<const uint8_t> voted)> finish) const;

 private:
  /// Both children of a leaf are the leaf itself, so that a walk may stand still while others go on.
  struct Node {
    T value;
    uint32_t feature_and_test;  // feature << 4 | which of <, ==, >, unordered go to the true child
    uint32_t children[2];       // false, true
  };
  struct Vote {
    uint32_t target;
    T weight;
  };
  struct Accumulator {
    T* scores;       // [rows of the block, targets]
    uint8_t* voted;  // the same, null where nobody asks
  };
  enum class Walk : uint8_t { kLeq, kLt, kAny, kMember };

  static constexpr int64_t kLanes = 8;

  void Flatten(const ForestSource<T>& source);
  template <Walk kWalk>
  void FindLeaves(const T* const* rows, uint32_t* nodes) const;
  template <Walk kWalk>
  bool GoesTrue(const Node& node, uint32_t index, T x) const;
  template <Walk kWalk>
  void Block(const T* x, int64_t rows, int64_t features, size_t first_tree, size_t last_tree, Accumulator into) const;
  void RunBlock(const T* x, int64_t rows, int64_t features, size_t first_tree, size_t last_tree, Accumulator into) const;
  void Add(uint32_t leaf, T* scores, uint8_t* voted) const;
  void Start(Accumulator into, int64_t rows) const;
  void Merge(const T* scores, const uint8_t* voted, T* into_scores, uint8_t* into_voted) const;

  std::vector<Node> nodes_;
  std::vector<uint32_t> roots_;
  std::vector<uint32_t> first_vote_;  // by node; one past the end at the back
  std::vector<Vote> votes_;
  std::vector<uint32_t> first_member_;  // by node, when any tests membership
  std::vector<T> members_;              // sorted within a node
  Aggregate aggregate_ = Aggregate::kSum;
  Walk walk_ = Walk::kLeq;
  bool simple_ = false;  // one target, one vote a leaf, sums: the vote is in the leaf's value
  int64_t targets_ = 1;
  int64_t min_features_ = 0;
};

extern template class Forest<float>;
extern template class Forest<double>;

}  // namespace tessera::cpu
