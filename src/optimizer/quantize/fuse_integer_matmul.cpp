// fuse_integer_matmul: MatMul of 8-bit operands after DequantizeLinear with a float result, and MatMulInteger whose results
// are cast and scaled, become MatMulIntegerToFloat, with the bias that is added.

#include "graph/microsoft/schemas.h"
#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/quantization.h"
#include "optimizer/analysis/scalar.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

Node ToFloat(std::vector<ValueIndex> inputs, ValueIndex output) {
  Node fused;
  fused.op_type = "MatMulIntegerToFloat";
  fused.domain = kMicrosoftDomain;
  fused.since_version = 1;
  fused.inputs = std::move(inputs);
  fused.outputs = {output};
  return fused;
}

/// A constant with one element, or as many as B has columns along its last axis.
bool ScalesColumns(const Graph& graph, ValueIndex scale, ValueIndex b) {
  const Tensor* scales = scale == kNone ? nullptr : graph.constant(scale);
  if (scales == nullptr || !scales->is(ElementType::kFloat)) return false;
  if (scales->num_elements() == 1) return scales->shape().rank() <= 1;
  const Tensor* quantized = graph.constant(b);
  return quantized != nullptr && quantized->shape().rank() == 2 && scales->shape() == Shape{quantized->shape()[1]};
}

bool IsScalar(const Graph& graph, ValueIndex index) {
  const auto shape = index == kNone ? std::nullopt : StaticShapeOf(graph, index);
  return shape && shape->rank() == 0;
}

class IntegerMatMulFusion final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& node = graph.node(index);
    if (!HasOneOutput(node)) return false;
    if (IsOp(node, "MatMul")) return Dequantized(graph, node, context);
    if (IsOp(node, "MatMulInteger")) return Scaled(graph, node, context);
    if (IsOp(node, "Add")) return Biased(graph, node, context);
    return false;
  }

 private:
  static bool Dequantized(Graph& graph, const Node& matmul, RewriteContext& context) {
    const auto a = HasInput(matmul, 0) ? PlainDequantizationOf(graph, matmul.inputs[0]) : std::nullopt;
    const auto b = HasInput(matmul, 1) ? DequantizationOf(graph, matmul.inputs[1]) : std::nullopt;
    if (!a || !b || graph.constant(b->quantized) == nullptr) return false;
    const Tensor& quantized = *graph.constant(b->quantized);
    if (quantized.shape().rank() != 2 ||
        (!b->per_tensor() && ((b->axis != 1 && b->axis != -1) || b->scales->num_elements() != quantized.shape()[1])))
      return false;
    Node fused = ToFloat({a->quantized, b->quantized, a->scale, b->scale, a->zero, b->zero}, matmul.outputs[0]);
    return Replace(graph, {matmul.index}, std::move(fused), context);
  }

  /// Mul(Cast(MatMulInteger(a, b)), Mul(a_scale, b_scale)), a_scale a scalar.
  static bool Scaled(Graph& graph, const Node& matmul, RewriteContext& context) {
    if (!HasInput(matmul, 1) || graph.constant(matmul.inputs[1]) == nullptr) return false;
    const Node* cast = OnlyReader(graph, matmul.outputs[0]);
    if (cast == nullptr || !IsOp(*cast, "Cast") || ElementOf(graph, cast->outputs[0]) != ElementType::kFloat) return false;
    const Node* scaled = OnlyReader(graph, cast->outputs[0]);
    if (scaled == nullptr || !IsOp(*scaled, "Mul") || scaled->since_version < 7) return false;
    const ValueIndex scales = OtherInput(*scaled, cast->outputs[0]);
    if (scales == kNone || scales == cast->outputs[0] || graph.value(scales).producer == kNone) return false;
    const Node& scale = graph.node(graph.value(scales).producer);
    if (!IsOp(scale, "Mul") || scale.since_version < 7) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const ValueIndex a_scale = scale.inputs[i], b_scale = scale.inputs[1 - i];
      if (!ScalesColumns(graph, b_scale, matmul.inputs[1]) || !IsScalar(graph, a_scale) || !FitsZeros(graph, matmul))
        continue;
      const auto optional = [&](size_t input) { return HasInput(matmul, input) ? matmul.inputs[input] : kNone; };
      Node fused =
          ToFloat({matmul.inputs[0], matmul.inputs[1], a_scale, b_scale, optional(2), optional(3)}, scaled->outputs[0]);
      return Replace(graph, {scaled->index, cast->index, matmul.index}, std::move(fused), context);
    }
    return false;
  }

  /// A's zero point is a scalar; B's goes with its columns.
  static bool FitsZeros(const Graph& graph, const Node& matmul) {
    if (HasInput(matmul, 2)) {
      const auto shape = StaticShapeOf(graph, matmul.inputs[2]);
      if (!shape || shape->num_elements() != 1) return false;
    }
    return !HasInput(matmul, 3) || ConstantInput(graph, matmul, 3) != nullptr;
  }

  static bool Biased(Graph& graph, const Node& add, RewriteContext& context) {
    if (add.since_version < 7 || add.inputs.size() != 2) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Node* matmul = Producer(graph, add, i);
      const Tensor* bias = ConstantInput(graph, add, 1 - i);
      if (matmul == nullptr || bias == nullptr || matmul->op_type != "MatMulIntegerToFloat" ||
          matmul->domain != kMicrosoftDomain)
        continue;
      if (HasInput(*matmul, 6) || !HasOneReader(graph, add.inputs[i]) || !bias->is(ElementType::kFloat)) continue;
      const Tensor* b = ConstantInput(graph, *matmul, 1);
      if (b == nullptr || b->shape().rank() != 2 || bias->shape() != Shape{b->shape()[1]}) continue;
      Node fused = *matmul;
      fused.inputs.resize(7, kNone);
      fused.inputs[6] = add.inputs[1 - i];
      fused.outputs = add.outputs;
      return Replace(graph, {add.index, matmul->index}, std::move(fused), context);
    }
    return false;
  }

  static bool Replace(Graph& graph, const std::vector<NodeIndex>& members, Node fused, RewriteContext& context) {
    const Node& member = graph.node(members.back());
    if (!MayAdd(graph, fused, context)) return false;
    fused.name = member.name;
    for (const NodeIndex member_index : members) graph.RemoveNode(member_index);
    graph.AddNode(std::move(fused), members.front());
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FuseIntegerMatMul() { return std::make_unique<IntegerMatMulFusion>(); }

}  // namespace tessera
