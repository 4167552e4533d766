#include "optimizer/analysis/equal_halves.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "graph/op_traits.h"
#include "ops/movement/gather.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/row_part.h"

namespace tessera {
namespace {

std::optional<int64_t> RowSize(const Graph& graph, ValueIndex value) {
  const SymbolicShape* shape = ShapeOf(graph, value);
  if (shape == nullptr || (!shape->empty() && !shape->back().known())) return std::nullopt;
  return shape->empty() ? 1 : shape->back().value;
}

/// The order of the equal numbers of a row.
enum class Repeat { kHalves, kPairs };

bool ConstantHasEqualPairs(const Tensor& constant) {
  if (constant.num_elements() == 0 || constant.byte_size() % static_cast<size_t>(constant.num_elements()) != 0)
    return false;
  const size_t bytes = constant.byte_size() / static_cast<size_t>(constant.num_elements());
  const auto* data = static_cast<const char*>(constant.raw());
  for (size_t at = 0; at < constant.byte_size(); at += 2 * bytes) {
    if (std::memcmp(data + at, data + at + bytes, bytes) != 0) return false;
  }
  return true;
}

/// Concat of rows with themselves.
bool JoinsTwice(const Graph& graph, const Node& concat) {
  return concat.inputs.size() == 2 && concat.inputs[0] == concat.inputs[1] && JoinsRows(graph, concat);
}

/// Rows of two elements that are one: of an Expand or Tile of rows of one, or two of the same behind one another.
bool RepeatsOne(const Graph& graph, ValueIndex pairs) {
  const NodeIndex producer = graph.value(pairs).producer;
  if (producer == kNone) return false;
  const Node& node = graph.node(producer);
  if (IsOp(node, "Concat")) return JoinsTwice(graph, node);
  return (IsOp(node, "Expand") || IsOp(node, "Tile")) && RowSize(graph, node.inputs[0]) == 1;
}

bool ConstantHasEqualHalves(const Tensor& constant, int64_t row) {
  if (constant.num_elements() == 0 || constant.byte_size() % static_cast<size_t>(constant.num_elements()) != 0)
    return false;
  const size_t bytes = constant.byte_size() / static_cast<size_t>(constant.num_elements()) * static_cast<size_t>(row);
  const auto* data = static_cast<const char*>(constant.raw());
  for (size_t at = 0; at < constant.byte_size(); at += bytes) {
    if (std::memcmp(data + at, data + at + bytes / 2, bytes / 2) != 0) return false;
  }
  return true;
}

/// Each element of the result comes from those at the same index in a row.
bool WorksByElement(const Graph& graph, const Node& node) {
  const OpTraits traits = TraitsOf(graph, node);
  return (traits.Has(OpTrait::kUnary) && node.inputs.size() == 1) || traits.Has(OpTrait::kBroadcasts);
}

/// Moves rows as they are where it keeps their size.
bool MovesRows(const Graph& graph, const Node& node) {
  static const std::set<std::string_view> ops = {"Expand", "Flatten", "Reshape", "Slice", "Squeeze", "Unsqueeze"};
  const SymbolicShape* shape = ShapeOf(graph, node.inputs[0]);
  if (shape == nullptr || shape->empty() || !node.domain.empty()) return false;
  const auto last = static_cast<int64_t>(shape->size()) - 1;
  if (node.op_type == "Gather") {
    const int64_t axis = GatherAttributes(node).axis;
    return axis >= -last - 1 && axis < last && axis != -1;
  }
  if (node.op_type == "Transpose") {
    const auto perm = PermutationOf(graph, node);
    return perm && perm->back() == last;
  }
  return ops.contains(node.op_type);
}

/// Looks no further than any exporter's chain reaches.
bool Repeats(const Graph& graph, ValueIndex value, Repeat repeat, int steps) {
  const auto row = RowSize(graph, value);
  if (!row || *row < 2 || *row % 2 != 0 || steps == 0) return false;
  if (const Tensor* constant = graph.constant(value)) {
    return repeat == Repeat::kHalves ? ConstantHasEqualHalves(*constant, *row) : ConstantHasEqualPairs(*constant);
  }
  const NodeIndex producer = graph.value(value).producer;
  if (producer == kNone || !HasInput(graph.node(producer), 0)) return false;
  const Node& node = graph.node(producer);
  if (repeat == Repeat::kPairs && IsOp(node, "Reshape") && JoinsPairs(graph, node))
    return RepeatsOne(graph, node.inputs[0]);
  if (IsOp(node, "Concat")) return repeat == Repeat::kHalves && JoinsTwice(graph, node);
  if (WorksByElement(graph, node)) {
    return std::ranges::all_of(node.inputs, [&](ValueIndex input) {
      return input != kNone && (RowSize(graph, input) == 1 || Repeats(graph, input, repeat, steps - 1));
    });
  }
  return MovesRows(graph, node) && RowSize(graph, node.inputs[0]) == row &&
         Repeats(graph, node.inputs[0], repeat, steps - 1);
}

}  // namespace

bool HasEqualHalves(const Graph& graph, ValueIndex value) { return Repeats(graph, value, Repeat::kHalves, 16); }

bool HasEqualPairs(const Graph& graph, ValueIndex value) { return Repeats(graph, value, Repeat::kPairs, 16); }

}  // namespace tessera
