// fuse_quantized: Conv, MatMul, Add, Mul and global averages between DequantizeLinear and
// QuantizeLinear become the operators on quantized values, but for functions of a single one. Relu and Clip before the
// QuantizeLinear go where its range implies them already.

#include <cmath>
#include <limits>

#include "graph/microsoft/schemas.h"
#include "ops/math/gemm.h"
#include "ops/quantization/quantize_linear.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/bounds.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/quantization.h"
#include "optimizer/analysis/quantized_functions.h"
#include "optimizer/analysis/scalar.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// A bias in units of the accumulators: scale of x times scale of w.
std::optional<Tensor> IntegerBias(const Tensor& bias, const Quantization& x, const Quantization& w, int64_t outputs) {
  if (!bias.is(ElementType::kFloat) || bias.num_elements() != outputs) return std::nullopt;
  Tensor result(ElementType::kInt32, Shape{outputs});
  for (int64_t i = 0; i < outputs; ++i) {
    const double units =
        std::nearbyint(static_cast<double>(bias.data<float>()[i]) / (static_cast<double>(x.Scale()) * w.Scale(i)));
    // Half the range is left to the accumulated products.
    if (!(std::abs(units) < std::numeric_limits<int32_t>::max() / 2)) return std::nullopt;
    result.mutable_data<int32_t>()[i] = static_cast<int32_t>(units);
  }
  return result;
}

/// A constant float vector: itself, or a DequantizeLinear of a constant.
std::optional<Tensor> FloatVector(const Graph& graph, const Node& node, size_t input) {
  if (const Tensor* constant = ConstantInput(graph, node, input)) return *constant;
  const Node* producer = Producer(graph, node, input);
  if (producer == nullptr || !IsOp(*producer, "DequantizeLinear")) return std::nullopt;
  const auto attributes = ValidAttributes<QuantizeLinearAttributes>(*producer);
  if (!attributes || attributes->block_size != 0) return std::nullopt;
  if (ElementOf(graph, producer->outputs[0]) != ElementType::kFloat) return std::nullopt;
  const Tensor* quantized = ConstantInput(graph, *producer, 0);
  const Tensor* scales = ConstantInput(graph, *producer, 1);
  const Tensor* zeros = ConstantInput(graph, *producer, 2);
  if (quantized == nullptr || scales == nullptr || !quantized->is(ElementType::kInt32) || !scales->is(ElementType::kFloat))
    return std::nullopt;
  const int64_t count = quantized->num_elements();
  if (quantized->shape().rank() != 1 || (scales->num_elements() != 1 && scales->num_elements() != count))
    return std::nullopt;
  for (int64_t i = 0; zeros != nullptr && i < zeros->num_elements(); ++i) {
    if (!zeros->is(ElementType::kInt32) || zeros->data<int32_t>()[i] != 0) return std::nullopt;
  }
  Tensor result(ElementType::kFloat, Shape{count});
  for (int64_t i = 0; i < count; ++i) {
    const float scale = scales->data<float>()[scales->num_elements() == 1 ? 0 : i];
    result.mutable_data<float>()[i] = static_cast<float>(static_cast<double>(quantized->data<int32_t>()[i]) * scale);
  }
  return result;
}

/// The transposed matrix, so that no provider needs to read it in another order.
Tensor TransposedBytes(const Tensor& matrix, Allocator& memory) {
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor transposed(matrix.type(), Shape{columns, rows}, memory);
  const auto* from = static_cast<const uint8_t*>(matrix.unaligned_raw());
  auto* to = static_cast<uint8_t*>(transposed.mutable_raw());
  constexpr int64_t kTile = 64;  // bytes of a cache line
  for (int64_t i0 = 0; i0 < rows; i0 += kTile) {
    const int64_t i1 = std::min(rows, i0 + kTile);
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = i0; i < i1; ++i) to[j * rows + i] = from[i * columns + j];
    }
  }
  return transposed;
}

class QuantizedFusion final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const auto to = QuantizationOf(graph, graph.node(index));
    if (!to || !HasOneReader(graph, to->numbers) || graph.value(to->numbers).producer == kNone) return false;
    const Node* last = &graph.node(graph.value(to->numbers).producer);
    const Node* activation = nullptr;
    if (const auto bounds = BoundsOf(graph, *last)) {
      const Node* before = Producer(graph, *last, 0);
      if (before == nullptr || !HasOneReader(graph, last->inputs[0]) || !IsImplied(*bounds, *to)) return false;
      activation = last;
      last = before;
    }
    if (!HasOneOutput(*last)) return false;
    auto fused = Fused(graph, *last, *to, context);
    if (!fused || !MayAdd(graph, *fused, context)) return false;
    fused->name = last->name;
    fused->outputs = {to->quantized};
    const NodeIndex gone[] = {index, activation == nullptr ? kNone : activation->index, last->index};
    for (const NodeIndex node : gone) {
      if (node != kNone) graph.RemoveNode(node);
    }
    graph.AddNode(std::move(*fused), index);
    return true;
  }

 private:
  /// Without name and outputs.
  static std::optional<Node> Fused(Graph& graph, const Node& node, const Quantization& to, const RewriteContext& context) {
    const auto probe = [&](Node fused) {
      fused.outputs = {to.quantized};  // what the schema is asked for
      return fused;
    };
    std::optional<Node> fused;
    if (IsOp(node, "Conv")) fused = Convolution(graph, node, to);
    if (IsOp(node, "MatMul")) fused = FuseMatMul(graph, node, to);
    if (IsOp(node, "Gemm")) fused = Gemm(graph, node, to, context);
    if (IsOp(node, "Add") || IsOp(node, "Mul")) fused = Binary(graph, node, to);
    if (IsOp(node, "GlobalAveragePool")) fused = GlobalAverage(graph, node, to);
    return fused ? std::optional(probe(std::move(*fused))) : std::nullopt;
  }

  /// What two quantized operands and the result are given as: values, scales and zero points.
  static std::vector<ValueIndex> OperandsOf(Graph& graph, const Quantization& lhs, const Quantization& rhs,
                                            const Quantization& to) {
    return {lhs.quantized,
            lhs.scale,
            ZeroPointInput(graph, lhs),
            rhs.quantized,
            rhs.scale,
            ZeroPointInput(graph, rhs),
            to.scale,
            ZeroPointInput(graph, to)};
  }

  static std::optional<Node> Convolution(Graph& graph, const Node& conv, const Quantization& to) {
    const auto x = PlainDequantizationOf(graph, conv.inputs[0]);
    const auto w = HasInput(conv, 1) ? DequantizationOf(graph, conv.inputs[1]) : std::nullopt;
    const Tensor* weights = w ? graph.constant(w->quantized) : nullptr;
    if (!x || weights == nullptr || weights->shape().rank() < 3) return std::nullopt;
    const int64_t outputs = weights->shape()[0];
    if (!w->per_tensor() && (w->scales->num_elements() != outputs ||
                             (w->axis != 0 && w->axis != -static_cast<int64_t>(weights->shape().rank())))) {
      return std::nullopt;
    }
    std::optional<Tensor> bias;
    if (HasInput(conv, 2)) {
      const auto numbers = FloatVector(graph, conv, 2);
      bias = numbers ? IntegerBias(*numbers, *x, *w, outputs) : std::nullopt;
      if (!bias) return std::nullopt;
    }
    Node fused;
    fused.op_type = "QLinearConv";
    fused.since_version = VersionOf(graph, fused.op_type);
    fused.attributes = conv.attributes;
    fused.inputs = OperandsOf(graph, *x, *w, to);
    if (bias) fused.inputs.push_back(graph.AddConstant("", std::move(*bias)));
    return fused;
  }

  /// A scale for each column of B, or one.
  static bool FitsColumns(const Graph& graph, const Quantization& b, int64_t axis) {
    if (b.per_tensor()) return true;
    const Tensor* quantized = graph.constant(b.quantized);
    if (quantized == nullptr || quantized->shape().rank() != 2) return false;
    return (b.axis == axis || b.axis == axis - 2) &&
           b.scales->num_elements() == quantized->shape()[static_cast<size_t>(axis)];
  }

  static std::optional<Node> FuseMatMul(Graph& graph, const Node& matmul, const Quantization& to) {
    const auto a = PlainDequantizationOf(graph, matmul.inputs[0]);
    const auto b = HasInput(matmul, 1) ? DequantizationOf(graph, matmul.inputs[1]) : std::nullopt;
    if (!a || !b || !FitsColumns(graph, *b, 1)) return std::nullopt;
    Node fused;
    fused.op_type = "QLinearMatMul";
    fused.since_version = VersionOf(graph, fused.op_type);
    fused.inputs = OperandsOf(graph, *a, *b, to);
    return fused;
  }

  static std::optional<Node> Gemm(Graph& graph, const Node& gemm, const Quantization& to, const RewriteContext& context) {
    const auto a = PlainDequantizationOf(graph, gemm.inputs[0]);
    const auto b = HasInput(gemm, 1) ? DequantizationOf(graph, gemm.inputs[1]) : std::nullopt;
    const GemmAttributes attributes(gemm);
    const size_t columns = attributes.trans_b ? 0 : 1;
    if (!a || !b || attributes.trans_a || attributes.alpha != 1) return std::nullopt;
    const Tensor* quantized = graph.constant(b->quantized);
    if (quantized == nullptr || quantized->shape().rank() != 2 || !FitsColumns(graph, *b, columns)) return std::nullopt;
    std::optional<Tensor> bias;
    if (HasInput(gemm, 2)) {
      const auto numbers = FloatVector(graph, gemm, 2);
      if (!numbers || numbers->shape().rank() != 1 || attributes.beta != 1) return std::nullopt;
      bias = IntegerBias(*numbers, *a, *b, quantized->shape()[columns]);
      if (!bias) return std::nullopt;
    }
    // New constants move the scales that `a` and `b` look at, and the matrix.
    Node fused;
    fused.op_type = "QGemm";
    fused.domain = kMicrosoftDomain;
    fused.since_version = 1;
    const ValueIndex matrix = !attributes.trans_b
                                  ? b->quantized
                                  : graph.AddConstant("", TransposedBytes(*quantized, context.resources.load_memory()));
    fused.inputs = {a->quantized, a->scale, ZeroPointInput(graph, *a), matrix, b->scale, ZeroPointInput(graph, *b),
                    kNone,        to.scale, ZeroPointInput(graph, to)};
    if (bias) fused.inputs[6] = graph.AddConstant("", std::move(*bias));
    return fused;
  }

  static std::optional<Node> Binary(Graph& graph, const Node& node, const Quantization& to) {
    if (node.since_version < 7 || node.inputs.size() != 2) return std::nullopt;
    const auto a = PlainDequantizationOf(graph, node.inputs[0]), b = PlainDequantizationOf(graph, node.inputs[1]);
    if (!a || !b || a->type != b->type || a->type != to.type) return std::nullopt;
    // Lowerings make a table of it, together with what computes the operands, by the floats of these operators.
    if (AreFunctionsOfOne(graph, a->quantized, b->quantized)) return std::nullopt;
    Node fused;
    fused.op_type = "QLinear" + node.op_type;
    fused.domain = kMicrosoftDomain;
    fused.since_version = 1;
    fused.inputs = OperandsOf(graph, *a, *b, to);
    return fused;
  }

  static std::optional<Node> GlobalAverage(Graph& graph, const Node& node, const Quantization& to) {
    const auto x = PlainDequantizationOf(graph, node.inputs[0]);
    if (!x || x->type != to.type) return std::nullopt;
    Node fused;
    fused.op_type = "QLinearGlobalAveragePool";
    fused.domain = kMicrosoftDomain;
    fused.since_version = 1;
    fused.inputs = {x->quantized, x->scale, ZeroPointInput(graph, *x), to.scale, ZeroPointInput(graph, to)};
    return fused;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FuseQuantized() { return std::make_unique<QuantizedFusion>(); }

}  // namespace tessera
