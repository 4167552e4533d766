#include "optimizer/analysis/attention_pattern.h"

#include <algorithm>
#include <cmath>

#include "ops/normalization/softmax.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"

namespace tessera {
namespace {

/// What stands for minus infinity in a mask: no score comes near it.
constexpr double kMasking = -5e3;

bool IsRowSoftmax(const Graph& graph, const Node& node) {
  if (!IsOp(node, "Softmax") || !HasInput(node, 0)) return false;
  const SymbolicShape* shape = ShapeOf(graph, node.inputs[0]);
  if (shape == nullptr) return false;
  const int64_t axis = SoftmaxAttributes(node).axis;
  return axis == -1 || axis == static_cast<int64_t>(shape->size()) - 1;
}

/// x * c, c * x or x / c: x, and what it is multiplied by.
std::optional<std::pair<ValueIndex, double>> Scaling(const Graph& graph, const Node& node) {
  const bool divides = IsOp(node, "Div");
  if ((!divides && !IsOp(node, "Mul")) || node.inputs.size() != 2 || node.since_version < 7) return std::nullopt;
  for (const size_t i : {size_t{1}, size_t{0}}) {
    const auto scalar = ScalarOf(ConstantInput(graph, node, i));
    if (!scalar || (divides && i == 0) || !std::isfinite(*scalar) || *scalar == 0) continue;
    const SymbolicShape* shape = ShapeOf(graph, node.inputs[1 - i]);
    if (shape == nullptr || ConstantInput(graph, node, i)->shape().rank() > shape->size()) continue;
    return std::pair(node.inputs[1 - i], divides ? 1 / *scalar : *scalar);
  }
  return std::nullopt;
}

/// Removes the scaling of an operand of the first MatMul.
ValueIndex Unscaled(const Graph& graph, ValueIndex value, AttentionPattern& pattern) {
  for (NodeIndex producer; HasOneReader(graph, value) && (producer = graph.value(value).producer) != kNone;) {
    const auto scaling = Scaling(graph, graph.node(producer));
    if (!scaling) break;
    pattern.scale *= scaling->second;
    pattern.nodes.push_back(producer);
    value = scaling->first;
  }
  return value;
}

/// Looks no further than any exporter's chain reaches: a model may hold one of any length.
bool LeadsToMatMul(const Graph& graph, ValueIndex value, int steps = 16) {
  const NodeIndex producer = graph.value(value).producer;
  if (steps == 0 || producer == kNone || !HasOneReader(graph, value)) return false;
  const Node& node = graph.node(producer);
  if (IsOp(node, "MatMul")) return true;
  const auto leads = [&](ValueIndex input) { return LeadsToMatMul(graph, input, steps - 1); };
  if (IsOp(node, "Where") && node.inputs.size() == 3) return leads(node.inputs[1]) || leads(node.inputs[2]);
  if (const auto scaling = Scaling(graph, node)) return leads(scaling->first);
  return IsOp(node, "Add") && node.inputs.size() == 2 && (leads(node.inputs[0]) || leads(node.inputs[1]));
}

/// Max(x, c) of a c that absorbs every score: x and c. As c absorbs the score, the mask alone may be kept above it.
std::optional<std::pair<ValueIndex, ValueIndex>> Floored(const Graph& graph, const Node& node) {
  if (!IsOp(node, "Max") || node.inputs.size() != 2 || node.since_version < 8) return std::nullopt;
  for (const size_t i : {size_t{1}, size_t{0}}) {
    const Tensor* constant = ConstantInput(graph, node, i);
    const auto floor = ScalarOf(constant);
    if (!floor || !std::isfinite(*floor) || *floor > kAbsorbing || constant->shape().rank() > 2) continue;
    return std::pair(node.inputs[1 - i], node.inputs[i]);
  }
  return std::nullopt;
}

/// From the softmax's input up to the MatMul of queries and keys.
bool MatchScores(const Graph& graph, ValueIndex value, AttentionPattern& pattern) {
  for (bool scaled = false;;) {
    const NodeIndex producer = graph.value(value).producer;
    if (producer == kNone || !HasOneReader(graph, value)) return false;
    const Node& node = graph.node(producer);
    pattern.nodes.push_back(producer);
    if (IsOp(node, "MatMul")) {
      pattern.q = Unscaled(graph, node.inputs[0], pattern);
      pattern.transposed_k = Unscaled(graph, node.inputs[1], pattern);
      return true;
    }
    if (const auto scaling = Scaling(graph, node)) {
      pattern.scale *= scaling->second;
      value = scaling->first;
      scaled = true;
      continue;
    }
    if (scaled) return false;  // the scale would be the mask's too
    if (IsOp(node, "Add") && node.inputs.size() == 2 && node.since_version >= 7) {
      const size_t scores = LeadsToMatMul(graph, node.inputs[0]) ? 0 : 1;
      pattern.masks.push_back({.value = node.inputs[1 - scores]});
      value = node.inputs[scores];
    } else if (IsOp(node, "Where") && node.inputs.size() == 3) {
      const bool inverted = ConstantInput(graph, node, 1) != nullptr;
      const auto fill = ScalarOf(ConstantInput(graph, node, inverted ? 1 : 2));
      if (!fill || !(*fill <= kMasking)) return false;
      pattern.masks.push_back({.value = node.inputs[0], .fill = node.inputs[inverted ? 1 : 2], .inverted = inverted});
      value = node.inputs[inverted ? 2 : 1];
    } else if (const auto floored = Floored(graph, node); floored && pattern.floor == kNone && pattern.masks.empty()) {
      pattern.floor = floored->second;
      value = floored->first;
    } else {
      return false;
    }
  }
}

std::optional<AttentionPattern> Match(const Graph& graph, const Node& softmax) {
  if (!IsRowSoftmax(graph, softmax)) return std::nullopt;
  const Node* matmul = OnlyReader(graph, softmax.outputs[0]);
  if (matmul == nullptr || !IsOp(*matmul, "MatMul") || matmul->inputs[0] != softmax.outputs[0]) return std::nullopt;
  AttentionPattern pattern;
  pattern.matmul = matmul->index;
  pattern.v = matmul->inputs[1];
  pattern.nodes = {matmul->index, softmax.index};
  if (pattern.v == softmax.outputs[0] || !MatchScores(graph, softmax.inputs[0], pattern)) return std::nullopt;
  return pattern.scale > 0 ? std::optional(pattern) : std::nullopt;
}

/// [batch, heads, rows, width], or without the batch. Heads are equal; what else broadcasts at run time does in Attention
/// too.
bool ShapesFit(const Graph& graph, const AttentionPattern& pattern) {
  const SymbolicShape *q = ShapeOf(graph, pattern.q), *k = ShapeOf(graph, pattern.transposed_k),
                      *v = ShapeOf(graph, pattern.v);
  if (q == nullptr || k == nullptr || v == nullptr) return false;
  const size_t rank = q->size();
  if ((rank != 3 && rank != 4) || k->size() != rank || v->size() != rank) return false;
  return SameDimension((*q)[rank - 3], (*k)[rank - 3]) && SameDimension((*q)[rank - 3], (*v)[rank - 3]);
}

bool MaskFits(const Graph& graph, const MaskTerm& mask, size_t rank, ElementType type) {
  const SymbolicShape* shape = ShapeOf(graph, mask.value);
  return shape != nullptr && !shape->empty() && shape->size() <= rank &&
         ElementOf(graph, mask.fill == kNone ? mask.value : mask.fill) == type;
}

/// Whether batch, queries and masks are known to need none of MatMul's and Add's broadcasting but what Attention's mask
/// does.
bool IsPlain(const Graph& graph, const AttentionPattern& pattern) {
  const SymbolicShape &q = *ShapeOf(graph, pattern.q), &k = *ShapeOf(graph, pattern.transposed_k),
                      &v = *ShapeOf(graph, pattern.v);
  const size_t rank = q.size();
  if (rank == 4 && (!SameDimension(q[0], k[0]) || !SameDimension(q[0], v[0]))) return false;
  SymbolicShape scores = q;
  scores.back() = k.back();
  return std::all_of(pattern.masks.begin(), pattern.masks.end(), [&](const MaskTerm& mask) {
    const SymbolicShape& shape = *ShapeOf(graph, mask.value);
    if (!SameDimension(shape.back(), scores.back())) return false;  // Attention takes a shorter mask as padding
    for (size_t i = 0; i + 1 < shape.size(); ++i) {
      if (shape[i].value != 1 && !SameDimension(shape[i], scores[rank - shape.size() + i])) return false;
    }
    return true;
  });
}

/// Whether Attention, which adds masks, gives what replacing scores does. Of a row that is replaced altogether nothing may
/// be left of the scores: what replaces them alone is lowered until it absorbs them, but beside a mask that is added its
/// distance to that counts.
bool AbsorbsScores(const Graph& graph, const AttentionPattern& pattern) {
  constexpr double kLowBesideAdded = -1e9;  // of floats: scores below 32 vanish in it
  const auto is_added = [](const MaskTerm& mask) { return mask.fill == kNone; };
  if (std::ranges::none_of(pattern.masks, is_added)) return true;
  return std::ranges::all_of(pattern.masks, [&](const MaskTerm& mask) {
    return is_added(mask) || *ScalarOf(graph.constant(mask.fill)) <= kLowBesideAdded;
  });
}

/// Whether a row's scores may all become minus infinity.
bool MayLeaveNothing(const Graph& graph, const AttentionPattern& pattern) {
  return std::ranges::any_of(pattern.masks, [&](const MaskTerm& mask) {
    return mask.fill == kNone || !std::isfinite(*ScalarOf(graph.constant(mask.fill)));
  });
}

}  // namespace

std::optional<AttentionPattern> FindAttention(const Graph& graph, const Node& softmax) {
  auto pattern = Match(graph, softmax);
  if (!pattern) return std::nullopt;
  const ValueIndex result = graph.node(pattern->matmul).outputs[0];
  const ElementType type = ElementOf(graph, pattern->q);
  const bool has_tools = VersionOf(graph, "Add") >= 7 && VersionOf(graph, "Where") > 0 && VersionOf(graph, "Reshape") >= 5;
  if (!ShapesFit(graph, *pattern) || !has_tools || type == ElementType::kUndefined) return std::nullopt;
  for (const ValueIndex value : {pattern->transposed_k, pattern->v, result}) {
    if (ElementOf(graph, value) != type) return std::nullopt;
  }
  const size_t rank = ShapeOf(graph, pattern->q)->size();
  if (ShapeOf(graph, result) == nullptr || ShapeOf(graph, result)->size() != rank) return std::nullopt;
  for (const MaskTerm& mask : pattern->masks) {
    if (!MaskFits(graph, mask, rank, type)) return std::nullopt;
  }
  if (!AbsorbsScores(graph, *pattern)) return std::nullopt;
  pattern->broadcasts = !IsPlain(graph, *pattern);
  pattern->may_leave_nothing = MayLeaveNothing(graph, *pattern);
  return pattern;
}

}  // namespace tessera
