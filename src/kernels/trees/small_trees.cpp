#include "kernels/trees/small_trees.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/trees/small_trees.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

/// Vectors that share the loads of a node.
constexpr size_t kVectors = 4;

template <SmallTest kTest>
HWY_INLINE hn::Mask<D> GoesTrue(V x, V value) {
  if constexpr (kTest == SmallTest::kLeq) return hn::Le(x, value);
  if constexpr (kTest == SmallTest::kLeqOrMissing) return hn::Not(hn::Gt(x, value));
  return hn::Lt(x, value);
}

template <SmallTest kTest, bool kWide>
HWY_INLINE void Strike(const SmallTreeNode* node, const SmallTreeNode* last, const float* columns, VI (&low)[kVectors],
                       VI (&high)[kVectors]) {
  const D d;
  const DI di;
  for (; node != last; ++node) {
    const auto value = hn::Set(d, node->value);
    const auto low_false = hn::Set(di, static_cast<int32_t>(node->below_false[0]));
    const auto high_false = hn::Set(di, static_cast<int32_t>(node->below_false[1]));
    const float* x = columns + static_cast<int64_t>(node->column) * kSmallTreeRows;
    for (size_t v = 0; v < kVectors; ++v) {
      const auto goes = hn::RebindMask(di, GoesTrue<kTest>(hn::Load(d, x + v * hn::Lanes(d)), value));
      low[v] = hn::IfThenElse(goes, hn::AndNot(low_false, low[v]), low[v]);
      if constexpr (kWide) high[v] = hn::IfThenElse(goes, hn::AndNot(high_false, high[v]), high[v]);
    }
  }
}

/// The number of the lowest bit set; a vector with none is undefined.
HWY_INLINE VI LowestBit(VI bits) {
  const DI di;
  const auto lowest = hn::And(bits, hn::Neg(bits));
  // A power of two's exponent as a float; its sign bit, of 2^31, is not part of the exponent.
  const auto exponent = hn::ShiftRight<23>(hn::BitCast(di, hn::ConvertTo(D(), lowest)));
  return hn::Sub(hn::And(exponent, hn::Set(di, 0xff)), hn::Set(di, 127));
}

/// The leaf of each row, by number within the tree.
template <bool kWide>
HWY_INLINE void Find(const SmallTree& tree, const SmallTreeNode* nodes, const float* columns, VI (&leaf)[kVectors]) {
  const DI di;
  VI low[kVectors], high[kVectors];
  for (size_t v = 0; v < kVectors; ++v) low[v] = high[v] = hn::Set(di, -1);
  const SmallTreeNode* const missing = nodes + tree.last_node[0];
  const SmallTreeNode* const less = nodes + tree.last_node[1];
  Strike<SmallTest::kLeq, kWide>(nodes + tree.first_node, missing, columns, low, high);
  Strike<SmallTest::kLeqOrMissing, kWide>(missing, less, columns, low, high);
  Strike<SmallTest::kLt, kWide>(less, nodes + tree.last_node[2], columns, low, high);
  for (size_t v = 0; v < kVectors; ++v) {
    leaf[v] = LowestBit(low[v]);
    if constexpr (kWide) {
      const auto none = hn::Eq(low[v], hn::Zero(di));
      leaf[v] = hn::IfThenElse(none, hn::Add(LowestBit(high[v]), hn::Set(di, 32)), leaf[v]);
    }
  }
}

/// Calls `use(tree, its number, leaves)` for kVectors vectors of rows and each tree.
template <class Use>
HWY_INLINE void ForEachTree(std::span<const SmallTree> trees, const SmallTreeNode* nodes, const float* columns,
                            const Use& use) {
  for (size_t i = 0; i < trees.size(); ++i) {
    VI leaf[kVectors];
    if (trees[i].num_leaves > 32) {
      Find<true>(trees[i], nodes, columns, leaf);
    } else {
      Find<false>(trees[i], nodes, columns, leaf);
    }
    use(trees[i], i, leaf);
  }
}

void FindLeaves(std::span<const SmallTree> trees, const SmallTreeNode* nodes, const float* columns, uint32_t* leaves) {
  const DI di;
  const size_t lanes = hn::Lanes(di);
  for (size_t row = 0; row < kSmallTreeRows; row += kVectors * lanes) {
    ForEachTree(trees, nodes, columns + row, [&](const SmallTree& tree, size_t i, const VI(&leaf)[kVectors]) {
      auto* to = reinterpret_cast<int32_t*>(leaves) + i * kSmallTreeRows + row;
      const auto first = hn::Set(di, static_cast<int32_t>(tree.first_leaf));
      for (size_t v = 0; v < kVectors; ++v) hn::StoreU(hn::Add(leaf[v], first), di, to + v * lanes);
    });
  }
}

void AddLeaves(std::span<const SmallTree> trees, const SmallTreeNode* nodes, const float* columns,
               std::span<const uint32_t> tree_targets, const float* leaf_values, float* scores) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  for (size_t row = 0; row < kSmallTreeRows; row += kVectors * lanes) {
    ForEachTree(trees, nodes, columns + row, [&](const SmallTree& tree, size_t i, const VI(&leaf)[kVectors]) {
      const float* values = leaf_values + tree.first_leaf;
      float* to = scores + tree_targets[i] * kSmallTreeRows + row;
      for (size_t v = 0; v < kVectors; ++v, to += lanes) {
        hn::StoreU(hn::Add(hn::LoadU(d, to), hn::GatherIndex(d, values, leaf[v])), d, to);
      }
    });
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindLeaves);
void FindSmallTreeLeaves(std::span<const SmallTree> trees, const SmallTreeNode* nodes, const float* columns,
                         uint32_t* leaves) {
  HWY_DYNAMIC_DISPATCH(FindLeaves)(trees, nodes, columns, leaves);
}

HWY_EXPORT(AddLeaves);
void AddSmallTreeLeaves(std::span<const SmallTree> trees, const SmallTreeNode* nodes, const float* columns,
                        std::span<const uint32_t> tree_targets, const float* leaf_values, float* scores) {
  HWY_DYNAMIC_DISPATCH(AddLeaves)(trees, nodes, columns, tree_targets, leaf_values, scores);
}
}  // namespace tessera::cpu
#endif
