// dynamic_quantize_matmul: where the session's precision is int8-dynamic, MatMuls with constant float matrices become
// MatMulNBits with weights of 8 bits, and every MatMulNBits may quantize its lhs. A last pass: nothing after it
// could fold anything into these weights.

#include <algorithm>

#include "ops/math/gemm.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/matmul_nbits.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// Smaller matrices cost less than the quantization of what they meet.
constexpr int64_t kLeastK = 64, kLeastN = 16;

class DynamicMatMulQuantization final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    if (context.precision != Precision::kInt8Dynamic) return false;
    if (IsMatMulNBits(graph.node(index))) return AllowInt8(graph.node(index));
    return Quantize(graph, index, context);
  }

 private:
  static bool Quantize(Graph& graph, NodeIndex index, const RewriteContext& context) {
    const Node& matmul = graph.node(index);
    const Tensor* weights = ConstantInput(graph, matmul, 1);
    if (weights == nullptr || !weights->is(ElementType::kFloat) || weights->shape().rank() != 2) return false;
    const bool transposed = IsOp(matmul, "Gemm") && GemmAttributes(matmul).trans_b;
    const Shape& shape = weights->shape();
    if (shape[transposed ? 1 : 0] < kLeastK || shape[transposed ? 0 : 1] < kLeastN) return false;
    if (!MayBecomeNBits(graph, matmul, ElementType::kFloat, context)) return false;
    const ValueIndex matrix = matmul.inputs[1];
    const auto made = QuantizeToNBits(*weights, transposed, context.resources);
    if (!made) return false;
    const NodeIndex quantized = ReplaceByNBits(graph, index, *made, AddNBitsConstants(graph, *made));
    AllowInt8(graph.node(quantized));
    FoldNBitsBias(graph, quantized);
    const GraphValue& value = graph.value(matrix);
    if (value.consumers.empty() && !value.is_output && value.constant) graph.DropConstant(matrix);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> DynamicQuantizeMatMul() { return std::make_unique<DynamicMatMulQuantization>(); }

}  // namespace tessera
