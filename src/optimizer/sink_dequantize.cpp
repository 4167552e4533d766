// sink_dequantize: what moves elements about moves the 8-bit codes, and DequantizeLinear comes after it.

#include <set>

#include "optimizer/edit.h"
#include "optimizer/quantization.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// Operators that only move elements of their first input. MaxPool chooses among them, which commutes with a positive scale.
bool Moves(const Node& node) {
  static const std::set<std::string_view> movers = {"Reshape", "Transpose", "Flatten",      "Squeeze",      "Unsqueeze", "Slice",
                                                    "Gather",  "Expand",    "DepthToSpace", "SpaceToDepth", "Tile",      "Identity"};
  if (!node.domain.empty()) return false;
  if (node.op_type == "MaxPool") return node.since_version >= 12;
  return movers.contains(node.op_type);
}

class DequantizeSinking final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& mover = graph.node(index);
    if (!HasOneOutput(mover) || !HasInput(mover, 0)) return false;
    if (IsOp(mover, "Concat")) return Concatenation(graph, mover, context);
    if (!Moves(mover)) return false;
    const auto from = DequantizationOf(graph, mover.inputs[0]);
    if (!from) return false;
    int64_t axis = from->axis;
    if (!from->per_tensor()) {
      const auto moved = AxisAfter(graph, mover, axis);
      if (!moved) return false;
      axis = *moved;
    }
    return Sink(graph, mover, *from, {from->codes}, axis, context);
  }

 private:
  static std::optional<int64_t> AxisAfter(const Graph& graph, const Node& mover, int64_t axis) {
    const auto perm = PermutationOf(graph, mover);
    if (!perm) return std::nullopt;
    if (axis < 0) axis += static_cast<int64_t>(perm->size());
    for (size_t i = 0; i < perm->size(); ++i) {
      if ((*perm)[i] == axis) return static_cast<int64_t>(i);
    }
    return std::nullopt;
  }

  static bool Concatenation(Graph& graph, const Node& concat, RewriteContext& context) {
    std::vector<ValueIndex> codes;
    std::optional<Quantization> first;
    for (size_t i = 0; i < concat.inputs.size(); ++i) {
      const auto from = HasInput(concat, i) ? PlainDequantizationOf(graph, concat.inputs[i]) : std::nullopt;
      if (!from || (first && !SameQuantization(*first, *from))) return false;
      if (!first) first = from;
      codes.push_back(from->codes);
    }
    return first && Sink(graph, concat, *first, codes, first->axis, context);
  }

  static bool Sink(Graph& graph, const Node& mover, const Quantization& from, const std::vector<ValueIndex>& codes, int64_t axis,
                   RewriteContext& context) {
    const NodeIndex index = mover.index;
    const ValueIndex out = mover.outputs[0];
    TypeInfo type = graph.value(out).type;
    if (!type.is_tensor() || type.element != ElementType::kFloat) return false;
    type.element = from.type;
    Node moved = mover;
    std::copy(codes.begin(), codes.end(), moved.inputs.begin());
    moved.outputs[0] = graph.AddValue("", type);
    Node numbers = graph.node(from.node);
    numbers.name.clear();
    if (!from.per_tensor()) SetAttribute(numbers, "axis", axis);
    numbers.inputs[0] = moved.outputs[0];
    numbers.outputs = {out};
    if (!MayQuantize(graph, mover, moved, context)) return false;
    graph.RemoveNode(index);
    graph.AddNode(std::move(moved), index);
    graph.AddNode(std::move(numbers), index);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> SinkDequantize() { return std::make_unique<DequantizeSinking>(); }

}  // namespace tessera
