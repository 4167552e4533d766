#include "runtime/profile/work.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "graph/microsoft/schemas.h"
#include "graph/op_traits.h"
#include "ops/attention/linear_attention.h"
#include "ops/math/einsum_equation.h"
#include "ops/math/gemm.h"
#include "ops/valid_attributes.h"
#include "tessera/provider/attributes.h"

namespace tessera {
namespace {

using Shapes = std::span<const Shape* const>;

double Elements(const Shape& shape) { return static_cast<double>(shape.num_elements()); }

const Shape* At(Shapes shapes, size_t i) { return i < shapes.size() ? shapes[i] : nullptr; }

/// Each of `elements` takes part in a multiply-add with each weight of one index of their first axis: each result of a
/// convolution with those of its output channel, each input of a transposed one with those of its channel.
double OfConvolution(const Shape* elements, const Shape* weights) {
  if (elements == nullptr || weights == nullptr || weights->rank() == 0 || (*weights)[0] == 0) return 0;
  return 2 * Elements(*elements) * Elements(*weights) / static_cast<double>((*weights)[0]);
}

double Convolution(const Node&, Shapes inputs, Shapes outputs) { return OfConvolution(At(outputs, 0), At(inputs, 1)); }

double QLinearConvolution(const Node&, Shapes inputs, Shapes outputs) {
  return OfConvolution(At(outputs, 0), At(inputs, 3));
}

double TransposedConvolution(const Node&, Shapes inputs, Shapes) { return OfConvolution(At(inputs, 0), At(inputs, 1)); }

double MatMul(const Node& node, Shapes inputs, Shapes outputs) {
  const Shape *lhs = At(inputs, 0), *result = At(outputs, 0);
  if (lhs == nullptr || result == nullptr || lhs->rank() == 0) return 0;
  const bool transposed = GemmAttributes(node).trans_a && lhs->rank() > 1;
  return 2 * Elements(*result) * static_cast<double>((*lhs)[lhs->rank() - (transposed ? 2 : 1)]);
}

/// Of one operand there are sums alone, or nothing to compute.
double Einsum(const Node& node, Shapes inputs, Shapes outputs) {
  const auto equation = ValidAttributes<EinsumEquation>(node);
  if (!equation || At(outputs, 0) == nullptr || std::ranges::find(inputs, nullptr) != inputs.end()) return 0;
  const double combinations = equation->Combinations(inputs);
  if (inputs.size() > 1) return static_cast<double>(inputs.size()) * combinations;
  return combinations > Elements(*At(outputs, 0)) ? combinations : 0;
}

/// In each step, the input and the state are multiplied by their weights.
double Recurrence(const Node&, Shapes inputs, Shapes) {
  const Shape *x = At(inputs, 0), *w = At(inputs, 1), *r = At(inputs, 2);
  if (x == nullptr || w == nullptr || r == nullptr || x->rank() != 3) return 0;
  return 2 * static_cast<double>((*x)[0] * (*x)[1]) * (Elements(*w) + Elements(*r));
}

/// Q K' and its product with V: each element of a query, and each of the result, meets one of each key.
double OfScores(double query_elements, double keys, double result_elements) {
  return 2 * keys * (query_elements + result_elements);
}

/// Rows of a cache [batch, heads, rows, width], also those that it merely has room for; 0 without one.
double RowsOf(const Shape* cache) { return cache == nullptr || cache->rank() != 4 ? 0 : static_cast<double>((*cache)[2]); }

/// com.microsoft's, which has the projections of Q, K and V, side by side, before it.
double ProjectedAttention(Shapes inputs, Shapes outputs) {
  const Shape *x = At(inputs, 0), *w = At(inputs, 1), *past = At(inputs, 4), *result = At(outputs, 0);
  if (x == nullptr || w == nullptr || result == nullptr || x->rank() != 3 || w->rank() != 2) return 0;
  const auto rows = static_cast<double>((*x)[0] * (*x)[1]);
  const double keys = static_cast<double>((*x)[1] + (past == nullptr || past->rank() != 5 ? 0 : (*past)[3]));
  const double query_elements = rows * static_cast<double>(w->back() - result->back()) / 2;
  return 2 * rows * Elements(*w) + OfScores(query_elements, keys, Elements(*result));
}

double Attention(const Node& node, Shapes inputs, Shapes outputs) {
  if (node.domain == kMicrosoftDomain) return ProjectedAttention(inputs, outputs);
  const Shape *q = At(inputs, 0), *k = At(inputs, 1), *result = At(outputs, 0);
  if (q == nullptr || k == nullptr || result == nullptr || q->rank() < 3 || k->rank() != q->rank()) return 0;
  double query_elements = Elements(*q);
  const auto* columns = FindTyped<std::vector<int64_t>>(node, "columns");  // where rows hold more than queries
  if (columns != nullptr && columns->size() == 6)
    query_elements *=
        static_cast<double>((*columns)[1] - (*columns)[0]) / static_cast<double>(std::max<int64_t>(q->back(), 1));
  const double keys = static_cast<double>((*k)[k->rank() - 2]) + RowsOf(At(inputs, 4));
  return OfScores(query_elements, keys, Elements(*result));
}

/// Keys are [batch, rows, width], [batch, heads, rows, width] or, beside values, [batch, rows, heads, 2, width]; a query
/// of five dimensions has keys and values beside it.
double OfHeads(Shapes inputs, const Shape* past, const Shape* result) {
  const Shape *q = At(inputs, 0), *k = At(inputs, 1);
  if (q == nullptr || result == nullptr || q->rank() < 3) return 0;
  const double rows =
      k == nullptr || k->rank() < 3 ? static_cast<double>((*q)[1]) : static_cast<double>((*k)[k->rank() == 4 ? 2 : 1]);
  return OfScores(Elements(*q) / (q->rank() == 5 ? 3 : 1), rows + RowsOf(past), Elements(*result));
}

double MultiHeadAttention(const Node&, Shapes inputs, Shapes outputs) {
  return OfHeads(inputs, At(inputs, 6), At(outputs, 0));
}

double DecoderMaskedMultiHeadAttention(const Node&, Shapes inputs, Shapes outputs) {
  return OfHeads(inputs, At(inputs, 5), At(outputs, 0));
}

/// Queries have as many elements as the result; keys and values may stand behind them.
double GroupQueryAttention(const Node&, Shapes inputs, Shapes outputs) {
  const Shape *q = At(inputs, 0), *result = At(outputs, 0), *present = At(outputs, 1);
  if (q == nullptr || q->rank() != 3 || result == nullptr) return 0;
  const double keys = present != nullptr ? RowsOf(present) : RowsOf(At(inputs, 3)) + static_cast<double>((*q)[1]);
  return OfScores(Elements(*result), keys, Elements(*result));
}

/// In each step, a product of key and value goes into the state, of which the delta rule first reads what it has for the
/// key, and the query reads the result.
double LinearAttention(const Node& node, Shapes inputs, Shapes outputs) {
  const auto attributes = ValidAttributes<LinearAttentionAttributes>(node);
  const Shape *q = At(inputs, 0), *v = At(inputs, 2), *result = At(outputs, 0);
  if (!attributes || q == nullptr || v == nullptr || result == nullptr || q->rank() != 3) return 0;
  const double width = static_cast<double>(q->back()) / static_cast<double>(attributes->q_heads);
  return 2 * width * (Elements(*result) + (attributes->delta ? 2 : 1) * Elements(*v));
}

/// Each token goes through `k` of the experts, whose matrices `weights` hold, one index of the first axis for each.
double OfExperts(const Node& node, Shapes inputs, std::initializer_list<size_t> weights, double numbers_per_element) {
  const Shape* x = At(inputs, 0);
  if (x == nullptr || x->rank() == 0 || x->back() == 0) return 0;
  double of_one = 0;
  for (const size_t i : weights) {
    const Shape* matrices = At(inputs, i);
    if (matrices != nullptr && matrices->rank() == 3 && (*matrices)[0] > 0)
      of_one += Elements(*matrices) / static_cast<double>((*matrices)[0]);
  }
  const double tokens = Elements(*x) / static_cast<double>(x->back());
  return 2 * tokens * static_cast<double>(AttributeOr<int64_t>(node, "k", 1)) * of_one * numbers_per_element;
}

double MoE(const Node& node, Shapes inputs, Shapes) { return OfExperts(node, inputs, {2, 4, 6}, 1); }

/// Bytes hold several weights. Where the matrices have different bits, as if all had the first one's.
double QMoE(const Node& node, Shapes inputs, Shapes) {
  const auto all = AttributeOr<int64_t>(node, "expert_weight_bits", 4);
  const auto bits = AttributeOr<int64_t>(node, "fc1_expert_weight_bits", all);
  return OfExperts(node, inputs, {2, 5, 8}, 8.0 / static_cast<double>(std::max<int64_t>(bits, 1)));
}

double PerResult(const Node&, Shapes, Shapes outputs) { return At(outputs, 0) == nullptr ? 0 : Elements(*At(outputs, 0)); }

struct Row {
  std::string_view op_type;
  double (*count)(const Node& node, Shapes inputs, Shapes outputs);
};

/// In all domains. Elementwise operators and reductions of ai.onnx have traits instead. There are no rows for what moves
/// elements, looks them up or calls other operators; nor for pools, normalizations, losses, transforms, inverses, boxes,
/// text and trees, of which no count is usual, as their memory or algorithm decides how long they take.
constexpr Row kRows[] = {
    {"Attention", Attention},
    {"BiasGelu", PerResult},
    {"CausalConvWithState", Convolution},
    {"Conv", Convolution},
    {"ConvInteger", Convolution},
    {"ConvTranspose", TransposedConvolution},
    {"DecoderMaskedMultiHeadAttention", DecoderMaskedMultiHeadAttention},
    {"DeformConv", Convolution},
    {"DepthwiseConvNhwc", Convolution},
    {"DynamicQuantizeLSTM", Recurrence},
    {"DynamicQuantizeMatMul", MatMul},
    {"Einsum", Einsum},
    {"FastGelu", PerResult},
    {"FusedConv", Convolution},
    {"FusedGemm", MatMul},
    {"FusedMatMul", MatMul},
    {"GRU", Recurrence},
    {"Gemm", MatMul},
    {"GroupQueryAttention", GroupQueryAttention},
    {"LSTM", Recurrence},
    {"Linear", MatMul},
    {"LinearAttention", LinearAttention},
    {"MatMul", MatMul},
    {"MatMulBnb4", MatMul},
    {"MatMulInteger", MatMul},
    {"MatMulIntegerToFloat", MatMul},
    {"MatMulNBits", MatMul},
    {"MoE", MoE},
    {"MultiHeadAttention", MultiHeadAttention},
    {"Nchw8cConv", Convolution},
    {"Nchw8cConvTranspose", TransposedConvolution},
    {"QGemm", MatMul},
    {"QLinearAdd", PerResult},
    {"QLinearConv", QLinearConvolution},
    {"QLinearConvNhwc", QLinearConvolution},
    {"QLinearLeakyRelu", PerResult},
    {"QLinearMatMul", MatMul},
    {"QLinearMul", PerResult},
    {"QLinearSigmoid", PerResult},
    {"QMoE", QMoE},
    {"QuickGelu", PerResult},
    {"RNN", Recurrence},
    {"SwiGLU", PerResult},
    {"TransposeMatMul", MatMul},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::op_type));

/// Null: it has none.
const Row* FindRow(std::string_view op_type) noexcept {
  const auto* row = std::ranges::lower_bound(kRows, op_type, {}, &Row::op_type);
  return row == std::end(kRows) || row->op_type != op_type ? nullptr : row;
}

}  // namespace

ConvolutionKind ConvolutionKindOf(const Node& node) noexcept {
  const Row* row = FindRow(node.op_type);
  if (row == nullptr) return ConvolutionKind::kNone;
  if (row->count == TransposedConvolution) return ConvolutionKind::kTransposed;
  return row->count == Convolution || row->count == QLinearConvolution ? ConvolutionKind::kDirect : ConvolutionKind::kNone;
}

double FlopsOf(const Node& node, Shapes inputs, Shapes outputs) {
  if (const Row* row = FindRow(node.op_type); row != nullptr) return row->count(node, inputs, outputs);
  const OpTraits traits = TraitsOf(node);
  if (traits.Has(OpTrait::kReduces)) return At(inputs, 0) == nullptr ? 0 : Elements(*inputs[0]);
  return traits.IsElementwise() ? PerResult(node, inputs, outputs) : 0;
}

}  // namespace tessera
