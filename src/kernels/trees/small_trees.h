#pragma once

// Decision trees of few leaves, many rows at once, without walking (QuickScorer: Lucchese et al., SIGIR 2015). A row starts
// with a set of all leaves. Each test that sends it to the true child strikes off the leaves below the false one, whether
// the row comes by that node or not; leaves are numbered with those below the false child first, so that the first one left
// is where the row ends.

#include <array>
#include <cstdint>
#include <span>

namespace tessera::cpu {

inline constexpr int64_t kSmallTreeRows = 64;
inline constexpr uint32_t kSmallTreeLeaves = 64;

/// Nodes of a tree are in the order of their tests.
enum class SmallTest : uint8_t { kLeq, kLeqOrMissing, kLt };
inline constexpr size_t kSmallTests = 3;

struct SmallTreeNode {
  float value;
  uint32_t column;
  uint32_t below_false[2];  // leaves 0 to 31, 32 to 63
};

struct SmallTree {
  uint32_t first_leaf;
  uint32_t num_leaves;
  uint32_t first_node;
  std::array<uint32_t, kSmallTests> last_node;  // one past those of each test
};

/// Where kSmallTreeRows rows end in each tree: leaves [trees, kSmallTreeRows]. columns [any, kSmallTreeRows] are the rows'
/// features, one feature after another, 64 byte aligned.
void FindSmallTreeLeaves(std::span<const SmallTree> trees, const SmallTreeNode* nodes, const float* columns,
                         uint32_t* leaves);

/// Adds the values of the leaves that rows end in to the scores [targets, kSmallTreeRows] of each tree's target, in the
/// order of the trees.
void AddSmallTreeLeaves(std::span<const SmallTree> trees, const SmallTreeNode* nodes, const float* columns,
                        std::span<const uint32_t> tree_targets, const float* leaf_values, float* scores);

}  // namespace tessera::cpu
