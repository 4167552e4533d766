// sink_dequantize: operators that only move elements move the quantized values, and DequantizeLinear comes after them.

#include <algorithm>

#include "graph/op_traits.h"
#include "ops/image/resize.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/quantization.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// Operators that only move elements of their first input. MaxPool chooses among them, which commutes with a positive
/// scale.
bool Moves(const Node& node) {
  if (!node.domain.empty()) return false;
  if (node.op_type == "Resize") {  // outside of an image that is cut out, another number stands
    const auto resize = ValidAttributes<ResizeAttributes>(node);
    return resize && resize->options.mode == ResampleMode::kNearest &&
           resize->options.coordinates != CoordinateMode::kTfCropAndResize;
  }
  if (node.op_type == "MaxPool") return node.since_version >= 12;
  return Has(node, OpTrait::kMoves);
}

class DequantizeSinking final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& mover = graph.node(index);
    if ((!HasOneOutput(mover) && !IsOp(mover, "Split")) || !HasInput(mover, 0)) return false;
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
    return Sink(graph, mover, *from, {from->quantized}, axis, context);
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
    std::vector<ValueIndex> quantized;
    std::optional<Quantization> first;
    for (size_t i = 0; i < concat.inputs.size(); ++i) {
      const auto from = HasInput(concat, i) ? PlainDequantizationOf(graph, concat.inputs[i]) : std::nullopt;
      if (!from || (first && !SameQuantization(*first, *from))) return false;
      if (!first) first = from;
      quantized.push_back(from->quantized);
    }
    return first && Sink(graph, concat, *first, quantized, first->axis, context);
  }

  static bool Sink(Graph& graph, const Node& mover, const Quantization& from, const std::vector<ValueIndex>& quantized,
                   int64_t axis, RewriteContext& context) {
    const NodeIndex index = mover.index;
    const std::vector<ValueIndex> outputs = mover.outputs;
    const bool per_tensor = from.per_tensor();  // new values move the constants that it looks at
    const auto is_float = [&](ValueIndex output) {
      return output != kNone && ElementOf(graph, output) == ElementType::kFloat;
    };
    if (!std::all_of(outputs.begin(), outputs.end(), is_float)) return false;
    Node moved = mover;
    std::copy(quantized.begin(), quantized.end(), moved.inputs.begin());
    for (ValueIndex& output : moved.outputs) {
      TypeInfo type = graph.value(output).type;
      type.element = from.type;
      output = graph.AddValue("", type);
    }
    if (!MayAdd(graph, moved, context)) return false;
    Node numbers = graph.node(from.node);
    numbers.name.clear();
    if (!per_tensor) SetAttribute(numbers, "axis", axis);
    graph.RemoveNode(index);
    const std::vector<ValueIndex> results = moved.outputs;
    graph.AddNode(std::move(moved), index);
    for (size_t i = 0; i < outputs.size(); ++i) {
      Node number = numbers;
      number.inputs[0] = results[i];
      number.outputs = {outputs[i]};
      graph.AddNode(std::move(number), index);
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> SinkDequantize() { return std::make_unique<DequantizeSinking>(); }

}  // namespace tessera
