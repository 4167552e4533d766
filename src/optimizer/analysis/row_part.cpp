#include "optimizer/analysis/row_part.h"

#include "ops/movement/concat.h"
#include "ops/movement/gather.h"
#include "ops/movement/slice.h"
#include "ops/movement/split.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/slice_bounds.h"

namespace tessera {
namespace {

bool IsLast(int64_t axis, int64_t rank) { return axis == -1 || axis == rank - 1; }

/// What a Slice of the last axis alone reads of rows of this size, at this step.
std::optional<SliceRange> RangeOfRows(const Graph& graph, const Node& slice, int64_t rank, int64_t size, int64_t step) {
  const auto bounds = SliceBoundsOf(graph, slice);
  if (!bounds || bounds->axes != std::vector<int64_t>{rank - 1} || bounds->steps.front() != step) return std::nullopt;
  return ClampSlice(bounds->starts.front(), bounds->ends.front(), step, size);
}

std::optional<RowPart> FromSlice(const Graph& graph, const Node& slice, int64_t rank, int64_t size) {
  const auto range = RangeOfRows(graph, slice, rank, size, 1);
  if (!range) return std::nullopt;
  return RowPart{.source = slice.inputs[0], .begin = range->start, .end = range->start + range->count, .size = size};
}

std::optional<RowPart> FromSplit(const Graph& graph, const Node& split, ValueIndex value, int64_t rank, int64_t size) {
  if (!IsLast(SplitAttributes(split).axis, rank)) return std::nullopt;
  int64_t begin = 0;
  for (const ValueIndex output : split.outputs) {
    const SymbolicShape* shape = output == kNone ? nullptr : ShapeOf(graph, output);
    if (shape == nullptr || shape->empty() || !shape->back().known()) return std::nullopt;
    const int64_t end = begin + shape->back().value;
    if (output == value) return RowPart{.source = split.inputs[0], .begin = begin, .end = end, .size = size};
    begin = end;
  }
  return std::nullopt;
}

/// What computes a value, and the rows that it reads first.
struct RowReader {
  const Node& node;
  int64_t rank, size;  // of its first input
};

std::optional<RowReader> RowReaderOf(const Graph& graph, ValueIndex value) {
  const NodeIndex producer = graph.value(value).producer;
  if (producer == kNone || !HasInput(graph.node(producer), 0)) return std::nullopt;
  const Node& node = graph.node(producer);
  const SymbolicShape* shape = ShapeOf(graph, node.inputs[0]);
  if (shape == nullptr || shape->empty() || !shape->back().known()) return std::nullopt;
  return RowReader{node, static_cast<int64_t>(shape->size()), shape->back().value};
}

/// `apart` is `together` but for its last dimension of 2.
bool ArePairsOf(const Graph& graph, ValueIndex apart, ValueIndex together) {
  const SymbolicShape *pairs = ShapeOf(graph, apart), *rows = ShapeOf(graph, together);
  if (pairs == nullptr || rows == nullptr || rows->empty() || pairs->size() != rows->size() + 1 || pairs->back().value != 2)
    return false;
  for (size_t i = 0; i + 1 < rows->size(); ++i) {
    if (!SameDimension((*pairs)[i], (*rows)[i])) return false;
  }
  const Dimension& half = (*pairs)[rows->size() - 1];
  return half.known() && rows->back().value == 2 * half.value;
}

std::optional<RowAlternation> FromStridedSlice(const Graph& graph, const Node& slice, int64_t rank, int64_t size) {
  const auto range = RangeOfRows(graph, slice, rank, size, 2);
  if (!range || size % 2 != 0 || range->start > 1 || range->count != size / 2) return std::nullopt;
  return RowAlternation{slice.inputs[0], range->start, size};
}

/// Of a value [..., 2] that a Reshape made, element `which` of each pair.
std::optional<RowAlternation> FromPairs(const Graph& graph, ValueIndex pairs, int64_t which) {
  const NodeIndex producer = graph.value(pairs).producer;
  if (producer == kNone || which < 0 || which > 1 || !PartsPairs(graph, graph.node(producer))) return std::nullopt;
  const ValueIndex source = graph.node(producer).inputs[0];
  return RowAlternation{source, which, ShapeOf(graph, source)->back().value};
}

}  // namespace

std::optional<RowPart> RowPartOf(const Graph& graph, ValueIndex value) {
  const auto reader = RowReaderOf(graph, value);
  if (!reader) return std::nullopt;
  const auto& [node, rank, size] = *reader;
  if (IsOp(node, "Slice")) return FromSlice(graph, node, rank, size);
  return IsOp(node, "Split") ? FromSplit(graph, node, value, rank, size) : std::nullopt;
}

bool PartsPairs(const Graph& graph, const Node& reshape) {
  return IsOp(reshape, "Reshape") && ArePairsOf(graph, reshape.outputs[0], reshape.inputs[0]);
}

bool JoinsPairs(const Graph& graph, const Node& reshape) {
  return IsOp(reshape, "Reshape") && ArePairsOf(graph, reshape.inputs[0], reshape.outputs[0]);
}

std::optional<RowAlternation> RowAlternationOf(const Graph& graph, ValueIndex value) {
  const auto reader = RowReaderOf(graph, value);
  if (!reader) return std::nullopt;
  const auto& [node, rank, size] = *reader;
  if (IsOp(node, "Slice")) return FromStridedSlice(graph, node, rank, size);
  if (IsOp(node, "Gather")) {
    const Tensor* index = ConstantInput(graph, node, 1);
    if (index == nullptr || index->shape().rank() != 0 || !IsLast(GatherAttributes(node).axis, rank)) return std::nullopt;
    const auto which = Integers(index);
    return which && which->size() == 1
               ? FromPairs(graph, node.inputs[0], which->front() < 0 ? which->front() + 2 : which->front())
               : std::nullopt;
  }
  if (!IsOp(node, "Squeeze")) return std::nullopt;
  const auto axes = AxesOf(graph, node);
  const auto part = RowPartOf(graph, node.inputs[0]);
  if (!axes || axes->size() != 1 || !IsLast(axes->front(), rank) || !part || part->end != part->begin + 1)
    return std::nullopt;
  return FromPairs(graph, part->source, part->begin);
}

bool JoinsRows(const Graph& graph, const Node& concat) {
  const SymbolicShape* shape = ShapeOf(graph, concat.outputs[0]);
  return IsOp(concat, "Concat") && shape != nullptr && !shape->empty() &&
         IsLast(ConcatAttributes(concat).axis, static_cast<int64_t>(shape->size()));
}

}  // namespace tessera
