// decompose_skip_layer_normalization: SkipLayerNormalization and SkipSimplifiedLayerNormalization, as ONNX Runtime's
// optimizer writes them, become their Adds and LayerNormalization or RMSNormalization: a MatMul in front computes the Adds
// in its epilogue, and even where there is none the rows are read no slower. Only where it is left to
// the CPU provider: others keep one kernel.

#include <algorithm>

#include "cpu/lowering/lowering.h"
#include "lowering/fused_kernels.h"
#include "ops/normalization/skip_layer_normalization.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

/// The optional bias of the Add, and what the normalization reads after it.
struct SkipInputs {
  bool centers = false;
  ValueIndex beta = kNone, bias = kNone;
};

std::optional<SkipInputs> InputsOf(const Node& node) {
  const bool centers = node.op_type == "SkipLayerNormalization";
  if (node.domain != "com.microsoft" || (!centers && node.op_type != "SkipSimplifiedLayerNormalization"))
    return std::nullopt;
  if (!HasInput(node, 0) || !HasInput(node, 1) || !HasInput(node, 2)) return std::nullopt;
  const auto input = [&](size_t i) { return HasInput(node, i) ? node.inputs[i] : kNone; };
  return centers ? SkipInputs{true, input(3), input(4)} : SkipInputs{false, kNone, input(3)};
}

bool IsMatMul(const Graph& graph, const Node& node, size_t input) {
  const Node* producer = Producer(graph, node, input);
  return producer != nullptr && (IsOp(*producer, "MatMul") || IsOp(*producer, "Gemm") || IsOp(*producer, "Add"));
}

class SkipSplitting final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node node = graph.node(index);
    const auto inputs = InputsOf(node);
    if (!inputs || !IsPlain(graph, node, *inputs) || !context.Lowers(graph.node(index))) return false;
    Node normalization;
    normalization.op_type = inputs->centers ? "LayerNormalization" : "RMSNormalization";
    normalization.name = node.name;
    normalization.since_version = inputs->centers ? 17 : 23;
    normalization.inputs = {node.inputs[0], node.inputs[2]};
    if (inputs->beta != kNone) normalization.inputs.push_back(inputs->beta);
    normalization.outputs = {node.outputs[0]};
    SetAttribute(normalization, "axis", int64_t{-1});
    SetAttribute(normalization, "epsilon", SkipLayerNormalizationAttributes(node).epsilon);
    if (!MayFuse(graph, normalization, context)) return false;
    graph.RemoveNode(index);
    const auto add = [&](ValueIndex a, ValueIndex b, ValueIndex sum) {
      if (sum == kNone) sum = graph.AddValue("", graph.value(a).type);
      AddOperator(graph, "Add", {a, b}, sum, index);
      return sum;
    };
    // The bias goes to the side that a MatMul computes, whose epilogue does both Adds then.
    const size_t side = IsMatMul(graph, node, 1) && !IsMatMul(graph, node, 0) ? 1 : 0;
    const ValueIndex biased = inputs->bias == kNone ? node.inputs[side] : add(node.inputs[side], inputs->bias, kNone);
    normalization.inputs[0] = add(biased, node.inputs[1 - side], node.outputs.size() > 3 ? node.outputs[3] : kNone);
    graph.AddNode(std::move(normalization), index);
    return true;
  }

 private:
  /// The sizes are known to be those that the operator asks for, and only the normalization and the sum are used.
  static bool IsPlain(const Graph& graph, const Node& node, const SkipInputs& inputs) {
    const SymbolicShape* x = ShapeOf(graph, node.inputs[0]);
    if (x == nullptr || x->empty() || !SameShape(graph, node.inputs[0], node.inputs[1]) || VersionOf(graph, "Add") < 7)
      return false;
    const auto is_row = [&](ValueIndex value) {
      const SymbolicShape* row = value == kNone ? nullptr : ShapeOf(graph, value);
      return value == kNone || (row != nullptr && row->size() == 1 && SameDimension(row->front(), x->back()));
    };
    for (size_t i = 1; i < std::min<size_t>(node.outputs.size(), 3); ++i) {
      if (node.outputs[i] != kNone) return false;
    }
    const bool is_float =
        ElementOf(graph, node.inputs[0]) == ElementType::kFloat;  // halves are rounded once in the one kernel
    return is_float && node.outputs[0] != kNone && is_row(node.inputs[2]) && is_row(inputs.beta) && is_row(inputs.bias);
  }
};

}  // namespace

std::unique_ptr<Rewrite> DecomposeSkipLayerNormalization() { return std::make_unique<SkipSplitting>(); }

}  // namespace tessera
