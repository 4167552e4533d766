#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/ops/ml/forest.h"
#include "kernels/trees/small_trees.h"

namespace tessera::cpu {

/// The trees of a forest in the form of kernels/trees/small_trees.h, where all have it: few leaves, tests "<=" or "<".
class SmallTrees {
 public:
  SmallTrees() = default;
  /// Empty where some tree is none of these.
  SmallTrees(std::span<const TreeNode<float>> nodes, std::span<const uint32_t> roots);

  bool empty() const noexcept { return trees_.empty(); }
  size_t num_columns() const noexcept { return features_.size(); }
  /// Up to kSmallTreeRows rows of x, feature by feature: columns [num_columns, kSmallTreeRows], zeros behind the last row.
  void Columns(const float* x, int64_t rows, int64_t features, float* columns) const;
  void FindLeaves(const float* columns, size_t first_tree, size_t last_tree, uint32_t* leaves) const {
    FindSmallTreeLeaves(std::span(trees_).subspan(first_tree, last_tree - first_tree), nodes_.data(), columns, leaves);
  }
  /// scores [targets, kSmallTreeRows].
  void AddLeaves(const float* columns, std::span<const uint32_t> tree_targets, const float* leaf_values,
                 float* scores) const {
    AddSmallTreeLeaves(trees_, nodes_.data(), columns, tree_targets, leaf_values, scores);
  }

 private:
  bool Add(std::span<const TreeNode<float>> nodes, uint32_t root);

  std::vector<SmallTree> trees_;
  std::vector<SmallTreeNode> nodes_;  // column: the feature, until all trees are known
  std::vector<uint32_t> features_;    // by column
};

}  // namespace tessera::cpu
