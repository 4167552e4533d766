// concat_of_slices_to_gather: a Concat of slices of one tensor, along the axis that they were cut on, becomes one Gather:
// what was rolled, for example, is copied once.

#include <numeric>
#include <set>

#include "ops/movement/concat.h"
#include "ops/movement/slice.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/slice_bounds.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// More are no copy of large pieces, and the list of indices would need memory.
constexpr size_t kMostIndices = 4096;
/// Adjacent elements: few are copied faster by Slice and Concat.
constexpr int64_t kLeastBlock = 16;

/// The indices that a Slice with constant bounds reads on `axis`, of `size`, when it cuts no other.
std::optional<std::vector<int64_t>> IndicesOf(const Graph& graph, const Node& slice, int64_t axis, int64_t size) {
  if (!IsOp(slice, "Slice")) return std::nullopt;
  const auto bounds = SliceBoundsOf(graph, slice);
  if (!bounds || bounds->axes != std::vector<int64_t>{axis} || bounds->steps.front() != 1) return std::nullopt;
  const SliceRange range = ClampSlice(bounds->starts.front(), bounds->ends.front(), 1, size);
  std::vector<int64_t> indices(static_cast<size_t>(range.count));
  std::iota(indices.begin(), indices.end(), range.start);
  return indices;
}

class SliceGathering final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& concat = graph.node(index);
    const Node* first = IsOp(concat, "Concat") && concat.inputs.size() > 1 ? Producer(graph, concat, 0) : nullptr;
    if (first == nullptr || !HasInput(*first, 0) || VersionOf(graph, "Gather") == 0) return false;
    const ValueIndex source = first->inputs[0];
    const SymbolicShape* shape = ShapeOf(graph, source);
    if (shape == nullptr) return false;
    const auto rank = static_cast<int64_t>(shape->size());
    const int64_t given = ConcatAttributes(concat).axis, axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank) return false;
    const Dimension& size = (*shape)[static_cast<size_t>(axis)];
    if (!size.known() || size.value > static_cast<int64_t>(kMostIndices) || !HasBlocks(*shape, axis)) return false;
    std::vector<int64_t> indices;
    std::set<NodeIndex> slices;
    for (size_t i = 0; i < concat.inputs.size(); ++i) {
      const Node* slice = Producer(graph, concat, i);
      if (slice == nullptr || slice->inputs[0] != source || !HasOneReader(graph, concat.inputs[i])) return false;
      const auto taken = IndicesOf(graph, *slice, axis, size.value);
      if (!taken || indices.size() + taken->size() > kMostIndices) return false;
      indices.insert(indices.end(), taken->begin(), taken->end());
      slices.insert(slice->index);
    }
    Node gather = concat;
    gather.op_type = "Gather";
    gather.since_version = VersionOf(graph, "Gather");
    gather.attributes.clear();
    SetAttribute(gather, "axis", axis);
    const Shape count{static_cast<int64_t>(indices.size())};
    gather.inputs = {source, graph.AddConstant("", Tensor::Of<int64_t>(count, std::span<const int64_t>(indices)))};
    graph.RemoveNode(index);
    graph.AddNode(std::move(gather), index);
    for (const NodeIndex slice : slices) RemoveUnread(graph, slice);
    return true;
  }

 private:
  static bool HasBlocks(const SymbolicShape& shape, int64_t axis) {
    int64_t block = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) {
      if (!shape[i].known() || __builtin_mul_overflow(block, shape[i].value, &block)) return false;
    }
    return block >= kLeastBlock;
  }
};

}  // namespace

std::unique_ptr<Rewrite> ConcatOfSlicesToGather() { return std::make_unique<SliceGathering>(); }

}  // namespace tessera
