// fold_scales: BatchNormalization with constant statistics, and Mul and Div by a constant for each channel, become part of
// the weights of the convolution or matrix multiplication before them. The normalization may also read a MatMul's rows as
// a matrix.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "ops/math/gemm.h"
#include "ops/nn/conv.h"
#include "ops/normalization/batch_normalization.h"
#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// y = scale * x + shift in each channel.
struct Affine {
  std::vector<double> scale, shift;
};

std::optional<Affine> AffineOfBatchNormalization(const Graph& graph, const Node& node, const ConvOrGemm& layer) {
  const BatchNormalizationAttributes attributes(node);
  if (attributes.training || !attributes.spatial || !HasOneOutput(node) || node.inputs.size() != 5) return std::nullopt;
  std::vector<double> of[4];  // scale, B, mean, variance
  for (size_t i = 0; i < 4; ++i) {
    const Tensor* constant = ConstantInput(graph, node, i + 1);
    if (constant == nullptr || constant->shape() != Shape{layer.channels}) return std::nullopt;
    auto values = ToDoubles(*constant);
    if (!values) return std::nullopt;
    of[i] = std::move(*values);
  }
  const double epsilon = attributes.epsilon;
  Affine affine{std::move(of[0]), std::move(of[1])};
  for (size_t c = 0; c < affine.scale.size(); ++c) {
    affine.scale[c] /= std::sqrt(of[3][c] + epsilon);
    affine.shift[c] -= of[2][c] * affine.scale[c];
    if (!std::isfinite(affine.scale[c]) || !std::isfinite(affine.shift[c])) return std::nullopt;
  }
  return affine;
}

std::optional<Affine> AffineOfOperand(const Graph& graph, const Node& node, size_t operand, const ConvOrGemm& layer) {
  const Tensor* constant = ConstantInput(graph, node, operand);
  const auto spread = constant == nullptr ? std::nullopt : PerChannel(*constant, layer);
  auto values = spread ? ToDoubles(*spread) : std::nullopt;
  if (!values || node.since_version < 7) return std::nullopt;
  for (double& value : *values) {
    if (node.op_type == "Div") value = 1 / value;
    if (!std::isfinite(value)) return std::nullopt;
  }
  return Affine{std::move(*values), std::vector<double>(static_cast<size_t>(layer.channels), 0.0)};
}

/// The largest magnitude among weights, as its bits: these are in the order of the numbers, infinities and what is no
/// number above all, and integers' maxima are vectors'.
template <class T>
struct Largest {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static Bits Of(T value) { return std::bit_cast<Bits>(value) & (~Bits{0} >> 1); }
  static constexpr Bits kLeastNormal = std::bit_cast<Bits>(std::numeric_limits<T>::min());
  static constexpr Bits kInfinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());

  void Take(Bits other) {
    Bits seen = bits;
    while (seen < other && !bits.compare_exchange_weak(seen, other)) {
    }
  }
  std::atomic<Bits> bits = 0;
};

/// Each filter times its channel's scale. Nothing where a product is not finite, or where all underflow: computed one after
/// the other, the two operators may still give numbers.
template <class T>
std::optional<Tensor> ScaledWeights(const Node& node, const Tensor& weights, const std::vector<double>& scale,
                                    const SessionResources& resources) {
  ThreadPool& threads = resources.load_threads();
  Tensor scaled(weights.type(), weights.shape(), resources.load_memory());
  const Shape& shape = weights.shape();
  const T* const from = weights.data<T>();
  T* const to = scaled.mutable_data<T>();
  const int64_t columns = shape[1], inner = shape.SizeOfRange(2, shape.rank());
  const int64_t rows_of_group = shape[0] / GroupOf(node);
  const bool by_row = node.op_type == "Conv" || GemmAttributes(node).trans_b;
  Largest<T> before, after;
  const auto multiply = [&](int64_t begin, int64_t end, double factor) {
    const T typed = static_cast<T>(factor);
    typename Largest<T>::Bits given = 0, made = 0;
    for (int64_t i = begin; i < end; ++i) {
      to[i] = from[i] * typed;
      given = std::max(given, Largest<T>::Of(from[i]));
      made = std::max(made, Largest<T>::Of(to[i]));
    }
    before.Take(given);
    after.Take(made);
  };
  threads.ParallelFor(shape[0], 0.3 * static_cast<double>(columns * inner), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t start = row * columns * inner;
      if (by_row) {
        multiply(start, start + columns * inner, scale[static_cast<size_t>(row)]);
        continue;
      }
      const int64_t channel = node.op_type == "ConvTranspose" ? row / rows_of_group * columns : 0;
      for (int64_t column = 0; column < columns; ++column) {
        multiply(start + column * inner, start + (column + 1) * inner, scale[static_cast<size_t>(channel + column)]);
      }
    }
  });
  const bool vanish = before.bits >= Largest<T>::kLeastNormal && after.bits < Largest<T>::kLeastNormal;
  if (vanish || after.bits >= Largest<T>::kInfinity) return std::nullopt;
  return scaled;
}

class ScaleFolding final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& node = graph.node(index);
    const bool normalizes = IsOp(node, "BatchNormalization");
    if (normalizes || IsOp(node, "Div")) {
      return HasInput(node, 0) && (Fold(graph, index, 0, context) || (normalizes && FoldIntoRows(graph, index, context)));
    }
    return IsOp(node, "Mul") && (Fold(graph, index, 0, context) || Fold(graph, index, 1, context));
  }

 private:
  static bool Fold(Graph& graph, NodeIndex index, size_t input, RewriteContext& context) {
    const Node& node = graph.node(index);
    const auto layer = ConvOrGemmOf(graph, node.inputs[input]);
    if (!layer) return false;
    const Node& source = graph.node(layer->node);
    const Tensor* weights = ConstantInput(graph, source, 1);
    if (weights == nullptr || (!weights->is(ElementType::kFloat) && !weights->is(ElementType::kDouble))) return false;
    if (source.op_type == "ConvTranspose" && weights->shape()[0] % GroupOf(source) != 0) return false;
    const auto affine = IsOp(node, "BatchNormalization") ? AffineOfBatchNormalization(graph, node, *layer)
                                                         : AffineOfOperand(graph, node, 1 - input, *layer);
    auto bias = BiasOf(graph, *layer, weights->type());
    if (!affine || !bias) return false;
    const ValueIndex replaced = node.inputs[input];
    bool has_bias = HasInput(source, 2);
    for (size_t c = 0; c < bias->size(); ++c) {
      (*bias)[c] = (*bias)[c] * affine->scale[c] + affine->shift[c];
      has_bias |= (*bias)[c] != 0;
    }
    const Shape channels{layer->channels};
    const ElementType type = weights->type();
    Tensor folded = FromDoubles(type, channels, *bias);
    if (!AllFinite(folded)) return false;
    auto scaled = type == ElementType::kFloat ? ScaledWeights<float>(source, *weights, affine->scale, context.resources)
                                              : ScaledWeights<double>(source, *weights, affine->scale, context.resources);
    if (!scaled || !BypassNode(graph, index, replaced)) return false;
    graph.SetInput(layer->node, 1, graph.AddConstant("", std::move(*scaled)));
    if (has_bias) SetBias(graph, *layer, std::move(folded));
    return true;
  }

  /// BatchNormalization of the rows of MatMul(x, W), which a Reshape or Flatten made a matrix: W is scaled, and an Add
  /// before the Reshape shifts its columns.
  static bool FoldIntoRows(Graph& graph, NodeIndex index, RewriteContext& context) {
    const Node& node = graph.node(index);
    const ValueIndex matrix = node.inputs[0];
    const Node* reshape = HasOneReader(graph, matrix) ? Producer(graph, node, 0) : nullptr;
    if (reshape == nullptr || (!IsOp(*reshape, "Reshape") && !IsOp(*reshape, "Flatten")) || VersionOf(graph, "Add") < 7)
      return false;
    const ValueIndex rows = reshape->inputs[0];
    const Node* matmul = HasOneReader(graph, rows) ? Producer(graph, *reshape, 0) : nullptr;
    if (matmul == nullptr || !IsOp(*matmul, "MatMul")) return false;
    const Tensor* weights = ConstantInput(graph, *matmul, 1);
    if (weights == nullptr || !weights->is(ElementType::kFloat) || weights->shape().rank() != 2) return false;
    const int64_t columns = weights->shape()[1];
    const SymbolicShape *from = ShapeOf(graph, rows), *to = ShapeOf(graph, matrix);
    if (from == nullptr || to == nullptr || from->size() < 2 || to->size() != 2) return false;
    if (columns == 0 || from->back().value != columns || to->back().value != columns) return false;
    const auto affine = AffineOfBatchNormalization(graph, node, ConvOrGemm{matmul->index, columns, 2});
    if (!affine) return false;
    Tensor shift = FromDoubles(ElementType::kFloat, Shape{columns}, affine->shift);
    if (!AllFinite(shift)) return false;
    auto scaled = ScaledWeights<float>(*matmul, *weights, affine->scale, context.resources);
    const NodeIndex scaled_matmul = matmul->index, reshaping = reshape->index;
    if (!scaled || !BypassNode(graph, index, matrix)) return false;
    graph.SetInput(scaled_matmul, 1, graph.AddConstant("", std::move(*scaled)));
    Node add;
    add.op_type = "Add";
    add.since_version = VersionOf(graph, "Add");
    add.inputs = {rows, graph.AddConstant("", std::move(shift))};
    add.outputs = {graph.AddValue("", graph.value(rows).type)};
    graph.SetInput(reshaping, 0, add.outputs[0]);
    graph.AddNode(std::move(add), reshaping);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FoldScales() { return std::make_unique<ScaleFolding>(); }

}  // namespace tessera
