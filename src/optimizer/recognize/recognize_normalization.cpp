// recognize_normalization: the mean and variance of the last dimensions, spelled out in ReduceMean, Sub, Pow, Sqrt and Div,
// become LayerNormalization; without the mean, RMSNormalization.

#include <algorithm>

#include "ops/reduction/reduce.h"
#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// What the nodes compute, and the first dimension they do it over.
struct NormalizationPattern {
  ValueIndex x = kNone;
  bool centers = false;
  int64_t axis = 0;  // from the end: -1 is the last
  float epsilon = 0;
  std::vector<NodeIndex> nodes;
};

/// The mean over the last -axis dimensions, which stay as ones.
std::optional<int64_t> MeanAxis(const Graph& graph, const Node& node) {
  if (!IsOp(node, "ReduceMean") || !HasInput(node, 0) || !ReduceAttributes(node).keepdims) return std::nullopt;
  const SymbolicShape* shape = ShapeOf(graph, node.inputs[0]);
  auto axes = AxesOf(graph, node);
  if (shape == nullptr || !axes || axes->empty() || axes->size() > shape->size()) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->size()), count = static_cast<int64_t>(axes->size());
  for (int64_t& axis : *axes) axis = axis < 0 ? axis : axis - rank;
  std::sort(axes->begin(), axes->end());
  for (int64_t i = 0; i < count; ++i) {
    if ((*axes)[static_cast<size_t>(i)] != i - count) return std::nullopt;
  }
  return -count;
}

/// The value whose square `index` is.
std::optional<ValueIndex> SquareRoot(const Graph& graph, ValueIndex index, NormalizationPattern& pattern) {
  const NodeIndex producer = graph.value(index).producer;
  if (producer == kNone || !HasOneReader(graph, index)) return std::nullopt;
  const Node& node = graph.node(producer);
  pattern.nodes.push_back(producer);
  if (IsOp(node, "Mul") && node.inputs.size() == 2 && node.inputs[0] == node.inputs[1]) return node.inputs[0];
  return OperandBeside(graph, node, "Pow", 2);
}

/// sqrt(mean(square) + epsilon): what is squared.
std::optional<ValueIndex> MatchDeviation(const Graph& graph, ValueIndex index, NormalizationPattern& pattern) {
  const auto step = [&](ValueIndex value) -> const Node* {
    const NodeIndex producer = graph.value(value).producer;
    if (producer == kNone || !HasOneReader(graph, value)) return nullptr;
    pattern.nodes.push_back(producer);
    return &graph.node(producer);
  };
  const Node* root = step(index);
  if (root == nullptr || !IsOp(*root, "Sqrt")) return std::nullopt;
  const Node* sum = step(root->inputs[0]);
  if (sum == nullptr || !IsOp(*sum, "Add") || sum->inputs.size() != 2) return std::nullopt;
  const size_t constant = ConstantInput(graph, *sum, 0) != nullptr ? 0 : 1;
  const auto epsilon = NumberBeside(graph, *sum, constant);
  if (!epsilon || *epsilon < 0) return std::nullopt;
  pattern.epsilon = static_cast<float>(*epsilon);
  const Node* mean = step(sum->inputs[1 - constant]);
  const auto axis = mean == nullptr ? std::nullopt : MeanAxis(graph, *mean);
  if (!axis) return std::nullopt;
  pattern.axis = *axis;
  return SquareRoot(graph, mean->inputs[0], pattern);
}

/// x - mean(x) of the same axes, read twice: by the square and by the division. Else x itself.
void MatchCentering(const Graph& graph, ValueIndex squared, NormalizationPattern& pattern) {
  pattern.x = squared;
  const NodeIndex producer = graph.value(squared).producer;
  if (producer == kNone || graph.value(squared).is_output || graph.value(squared).consumers.size() != 2) return;
  const Node& difference = graph.node(producer);
  if (!IsOp(difference, "Sub") || difference.inputs.size() != 2 || difference.since_version < 7) return;
  const NodeIndex subtracted = graph.value(difference.inputs[1]).producer;
  if (subtracted == kNone) return;
  const Node& mean = graph.node(subtracted);
  if (MeanAxis(graph, mean) != pattern.axis || mean.inputs[0] != difference.inputs[0]) return;
  pattern.x = difference.inputs[0];
  pattern.centers = true;
  pattern.nodes.push_back(producer);
  if (HasOneReader(graph, difference.inputs[1])) pattern.nodes.push_back(subtracted);
}

/// x / deviation, or x * (1 / deviation).
std::optional<NormalizationPattern> MatchDivision(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2 || node.since_version < 7) return std::nullopt;
  const auto match = [&](ValueIndex divided, ValueIndex deviation,
                         NodeIndex reciprocal) -> std::optional<NormalizationPattern> {
    NormalizationPattern pattern;
    pattern.nodes = {node.index};
    if (reciprocal != kNone) pattern.nodes.push_back(reciprocal);
    const auto squared = MatchDeviation(graph, deviation, pattern);
    if (!squared || *squared != divided) return std::nullopt;
    MatchCentering(graph, *squared, pattern);
    return pattern;
  };
  if (IsOp(node, "Div")) return match(node.inputs[0], node.inputs[1], kNone);
  if (!IsOp(node, "Mul")) return std::nullopt;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Node* inverse = Producer(graph, node, i);
    if (inverse == nullptr || !HasOneReader(graph, node.inputs[i])) continue;
    ValueIndex deviation = kNone;
    if (IsOp(*inverse, "Reciprocal")) deviation = inverse->inputs[0];
    if (IsOp(*inverse, "Div") && NumberBeside(graph, *inverse, 0) == 1.0) deviation = inverse->inputs[1];
    if (deviation == kNone) continue;
    if (auto pattern = match(node.inputs[1 - i], deviation, inverse->index)) return pattern;
  }
  return std::nullopt;
}

template <class T>
Tensor Ones(const Shape& shape) {
  Tensor ones(ElementTypeOf<T>, shape);
  std::fill_n(ones.mutable_data<T>(), ones.num_elements(), T{1.0f});
  return ones;
}

/// The scale of a normalization that has none.
std::optional<Tensor> Ones(const Shape& shape, ElementType type) {
  switch (type) {
    case ElementType::kFloat: return Ones<float>(shape);
    case ElementType::kDouble: return Ones<double>(shape);
    case ElementType::kFloat16: return Ones<Float16>(shape);
    case ElementType::kBFloat16: return Ones<BFloat16>(shape);
    default: return std::nullopt;
  }
}

class NormalizationRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    auto pattern = MatchDivision(graph, graph.node(index));
    if (!pattern) return false;
    const auto normalized = NormalizedShape(graph, *pattern);
    const ElementType type = ElementOf(graph, pattern->x);
    if (!normalized || type == ElementType::kUndefined) return false;
    // The scale comes after the division, the bias after the scale. A scale of ones may have been left out.
    NodeIndex last = index;
    const ValueIndex scale = Parameter(graph, last, "Mul", *normalized, type);
    auto ones = scale == kNone ? Ones(*normalized, type) : std::nullopt;
    if (scale != kNone) pattern->nodes.push_back(last);
    if (scale == kNone && !ones) return false;
    const ValueIndex bias = pattern->centers ? Parameter(graph, last, "Add", *normalized, type) : kNone;
    if (bias != kNone) pattern->nodes.push_back(last);
    Node fused;
    fused.op_type = pattern->centers ? "LayerNormalization" : "RMSNormalization";
    fused.since_version = pattern->centers ? 17 : 23;
    fused.name = graph.node(last).name;
    fused.inputs = {pattern->x, ones ? pattern->x : scale};
    if (bias != kNone) fused.inputs.push_back(bias);
    fused.outputs = {graph.node(last).outputs[0]};
    SetAttribute(fused, "axis", pattern->axis);
    SetAttribute(fused, "epsilon", pattern->epsilon);
    if (!MayAdd(graph, fused, context)) return false;
    if (ones) fused.inputs[1] = graph.AddConstant("", std::move(*ones));
    for (const NodeIndex gone : pattern->nodes) graph.RemoveNode(gone);
    graph.AddNode(std::move(fused), last);
    return true;
  }

 private:
  static std::optional<Shape> NormalizedShape(const Graph& graph, const NormalizationPattern& pattern) {
    const SymbolicShape* shape = ShapeOf(graph, pattern.x);
    const auto count = static_cast<size_t>(-pattern.axis);
    if (shape == nullptr || shape->size() < count) return std::nullopt;
    return ToShape(SymbolicShape(shape->end() - static_cast<ptrdiff_t>(count), shape->end()));
  }

  /// The operand beside the result of `last`, when it is a value of this shape and type that is there before; `last` moves
  /// on.
  static ValueIndex Parameter(const Graph& graph, NodeIndex& last, std::string_view op_type, const Shape& shape,
                              ElementType type) {
    const ValueIndex result = graph.node(last).outputs[0];
    const Node* reader = OnlyReader(graph, result);
    if (reader == nullptr || !IsOp(*reader, op_type) || reader->since_version < 7) return kNone;
    const ValueIndex other = OtherInput(*reader, result);
    if (other == kNone || other == result || graph.constant(other) == nullptr) return kNone;
    if (StaticShapeOf(graph, other) != shape || ElementOf(graph, other) != type) return kNone;
    last = reader->index;
    return other;
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeNormalization() { return std::make_unique<NormalizationRecognition>(); }

}  // namespace tessera
