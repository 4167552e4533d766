#include "runtime/profile/work.h"

#include <algorithm>
#include <string_view>

#include "graph/op_traits.h"
#include "ops/math/gemm.h"

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

double OfMatMul(const Node& node, const Shape* lhs, const Shape* result) {
  if (lhs == nullptr || result == nullptr || lhs->rank() == 0) return 0;
  const bool transposed = GemmAttributes(node).trans_a && lhs->rank() > 1;
  return 2 * Elements(*result) * static_cast<double>((*lhs)[lhs->rank() - (transposed ? 2 : 1)]);
}

/// In each step, the input and the state are multiplied by their weights.
double OfRecurrence(Shapes inputs) {
  const Shape *x = At(inputs, 0), *w = At(inputs, 1), *r = At(inputs, 2);
  if (x == nullptr || w == nullptr || r == nullptr || x->rank() != 3) return 0;
  return 2 * static_cast<double>((*x)[0] * (*x)[1]) * (Elements(*w) + Elements(*r));
}

/// Q K' and its product with V: for each query and key as many products as both have elements.
double OfAttention(Shapes inputs) {
  const Shape *q = At(inputs, 0), *k = At(inputs, 1), *v = At(inputs, 2);
  if (q == nullptr || k == nullptr || v == nullptr || q->rank() < 3 || k->rank() != q->rank() || v->rank() != q->rank())
    return 0;
  const double keys = static_cast<double>((*k)[k->rank() - 2]);
  const double values = static_cast<double>(v->back()) / static_cast<double>(std::max<int64_t>(k->back(), 1));
  return 2 * Elements(*q) * keys * (1 + values);
}

struct Row {
  std::string_view op_type;
  ProductKind kind;
  size_t weights = 1;  // their input, of convolutions
};

constexpr Row kRows[] = {
    {"Attention", ProductKind::kAttention},
    {"Conv", ProductKind::kConvolution},
    {"ConvInteger", ProductKind::kConvolution},
    {"ConvTranspose", ProductKind::kTransposedConvolution},
    {"DepthwiseConvNhwc", ProductKind::kConvolution},
    {"DynamicQuantizeLSTM", ProductKind::kRecurrence},
    {"DynamicQuantizeMatMul", ProductKind::kMatMul},
    {"FusedConv", ProductKind::kConvolution},
    {"FusedGemm", ProductKind::kMatMul},
    {"FusedMatMul", ProductKind::kMatMul},
    {"GRU", ProductKind::kRecurrence},
    {"Gemm", ProductKind::kMatMul},
    {"LSTM", ProductKind::kRecurrence},
    {"Linear", ProductKind::kMatMul},
    {"MatMul", ProductKind::kMatMul},
    {"MatMulBnb4", ProductKind::kMatMul},
    {"MatMulInteger", ProductKind::kMatMul},
    {"MatMulIntegerToFloat", ProductKind::kMatMul},
    {"MatMulNBits", ProductKind::kMatMul},
    {"Nchw8cConv", ProductKind::kConvolution},
    {"Nchw8cConvTranspose", ProductKind::kTransposedConvolution},
    {"QGemm", ProductKind::kMatMul},
    {"QLinearConv", ProductKind::kConvolution, 3},
    {"QLinearConvNhwc", ProductKind::kConvolution, 3},
    {"QLinearMatMul", ProductKind::kMatMul},
    {"RNN", ProductKind::kRecurrence},
};

/// Null: it computes none.
const Row* FindRow(std::string_view op_type) {
  const auto* row = std::ranges::lower_bound(kRows, op_type, {}, &Row::op_type);
  return row == std::end(kRows) || row->op_type != op_type ? nullptr : row;
}

}  // namespace

ProductKind ProductKindOf(const Node& node) {
  const Row* row = FindRow(node.op_type);
  return row == nullptr ? ProductKind::kNone : row->kind;
}

double FlopsOf(const Node& node, Shapes inputs, Shapes outputs) {
  const Shape* result = At(outputs, 0);
  const Row* row = FindRow(node.op_type);
  if (row == nullptr) {
    const OpTraits traits = TraitsOf(node);
    if (traits.Has(OpTrait::kReduces)) return At(inputs, 0) == nullptr ? 0 : Elements(*inputs[0]);
    const bool computes = traits.Has(OpTrait::kUnary) || traits.Has(OpTrait::kBroadcasts);
    return computes && result != nullptr ? Elements(*result) : 0;
  }
  switch (row->kind) {
    case ProductKind::kNone: break;
    case ProductKind::kConvolution: return OfConvolution(result, At(inputs, row->weights));
    case ProductKind::kTransposedConvolution: return OfConvolution(At(inputs, 0), At(inputs, row->weights));
    case ProductKind::kMatMul: return OfMatMul(node, At(inputs, 0), result);
    case ProductKind::kRecurrence: return OfRecurrence(inputs);
    case ProductKind::kAttention: return OfAttention(inputs);
  }
  return 0;
}

}  // namespace tessera
