#include "cpu/ops/ml/small_trees.h"

#include <algorithm>
#include <optional>

namespace tessera::cpu {
namespace {

std::optional<SmallTest> TestOf(const TreeNode<float>& node) {
  switch (node.feature_and_test & 15) {
    case kTestLess | kTestEqual: return SmallTest::kLeq;
    case kTestLess | kTestEqual | kTestUnordered: return SmallTest::kLeqOrMissing;
    case kTestLess: return SmallTest::kLt;
    default: return std::nullopt;
  }
}

constexpr uint64_t Below(uint32_t leaf) { return leaf >= 64 ? ~uint64_t{0} : (uint64_t{1} << leaf) - 1; }

}  // namespace

SmallTrees::SmallTrees(std::span<const TreeNode<float>> nodes, std::span<const uint32_t> roots) {
  for (const uint32_t root : roots) {
    if (!Add(nodes, root)) {
      *this = {};
      return;
    }
  }
  for (const SmallTreeNode& node : nodes_) features_.push_back(node.column);
  std::ranges::sort(features_);
  features_.erase(std::ranges::unique(features_).begin(), features_.end());
  for (SmallTreeNode& node : nodes_) {
    node.column = static_cast<uint32_t>(std::ranges::lower_bound(features_, node.column) - features_.begin());
  }
}

bool SmallTrees::Add(std::span<const TreeNode<float>> nodes, uint32_t root) {
  struct Visit {
    uint32_t at;
    uint32_t first_leaf;
    bool below_false_done;
  };
  std::vector<SmallTreeNode> by_test[kSmallTests];
  std::vector<Visit> stack = {{root, 0, false}};
  uint32_t leaves = 0, first_leaf = 0;
  while (!stack.empty()) {
    Visit& visit = stack.back();
    if ((visit.at & kTreeLeaf) != 0) {
      const uint32_t leaf = visit.at ^ kTreeLeaf;
      if (leaves == 0) first_leaf = leaf;
      // A part that several nodes share would have its leaves twice.
      if (leaf != first_leaf + leaves || ++leaves > kSmallTreeLeaves) return false;
      stack.pop_back();
      continue;
    }
    const TreeNode<float>& node = nodes[visit.at];
    if (!visit.below_false_done) {
      visit = {visit.at, leaves, true};
      stack.push_back({node.children[0], 0, false});
      continue;
    }
    const auto test = TestOf(node);
    // Nothing compares with NaN: "not greater" would stand for "less or equal" there.
    if (!test || node.value != node.value) return false;
    const uint64_t below_false = Below(leaves) & ~Below(visit.first_leaf);
    by_test[static_cast<size_t>(*test)].push_back(
        {node.value,
         node.feature_and_test >> 4,
         {static_cast<uint32_t>(below_false), static_cast<uint32_t>(below_false >> 32)}});
    visit.at = node.children[1];
    visit.below_false_done = false;
  }
  SmallTree tree{first_leaf, leaves, static_cast<uint32_t>(nodes_.size()), {}};
  for (size_t test = 0; test < kSmallTests; ++test) {
    nodes_.insert(nodes_.end(), by_test[test].begin(), by_test[test].end());
    tree.last_node[test] = static_cast<uint32_t>(nodes_.size());
  }
  trees_.push_back(tree);
  return true;
}

void SmallTrees::Columns(const float* x, int64_t rows, int64_t features, float* columns) const {
  for (const uint32_t feature : features_) {
    for (int64_t row = 0; row < rows; ++row) columns[row] = x[row * features + feature];
    std::fill(columns + rows, columns + kSmallTreeRows, 0.0f);
    columns += kSmallTreeRows;
  }
}

}  // namespace tessera::cpu
