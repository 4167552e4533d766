// recognize_attention: softmax(scale * Q K^T + mask) V, spelled out in MatMul, Mul or Div, Add, Where, Softmax and MatMul,
// becomes Attention, which keeps the scores in the cache. Heads that are adjacent in the last dimension are read and
// written there, without Transpose. A row of which the mask leaves nothing gives NaN, as Softmax does, where Attention by
// itself gives zeros; in models that are written it gives these.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "graph/private_names.h"
#include "ops/normalization/softmax.h"
#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/fused_kernels.h"
#include "optimizer/analysis/scalar.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

constexpr int kAttentionVersion = 23;  // the first
/// What stands for minus infinity in a mask: no score comes near it.
constexpr double kMasking = -5e3;
/// Sums of scores with what is as low as this are that number: rounding leaves nothing of the score.
constexpr double kAbsorbing = -1e30;
const Permutation kHeadsFirst = {0, 2, 1, 3};

/// The scores' additive mask, or where they are replaced by a number near minus infinity.
struct MaskTerm {
  ValueIndex value = kNone;
  ValueIndex fill = kNone;  // of Where(value, scores, fill)
  bool inverted = false;    // of Where(value, fill, scores)
};

struct AttentionPattern {
  ValueIndex q = kNone, transposed_k = kNone, v = kNone;
  double scale = 1;
  std::vector<MaskTerm> masks;
  ValueIndex floor = kNone;  // of Max(scores with their mask, floor)
  NodeIndex matmul = kNone;
  std::vector<NodeIndex> nodes;
};

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

/// Replaces a pattern's nodes by those of one Attention.
class Builder {
 public:
  Builder(Graph& graph, const AttentionPattern& pattern)
      : graph_(graph), pattern_(pattern), result_(graph.node(pattern.matmul).outputs[0]) {}

  void Replace(Node fused) {
    std::array<ValueIndex, 3> inputs = {pattern_.q, Keys(), pattern_.v};
    const ValueIndex mask = Mask();
    for (const NodeIndex gone : pattern_.nodes) graph_.RemoveNode(gone);
    ValueIndex output = result_;
    if (Shape(result_).size() == 3) {  // one batch of them
      for (ValueIndex& input : inputs) input = Unsqueeze(input);
      output = NewValue(WithBatch(Shape(result_)));
      Squeeze(output);
    } else if (const auto packed = SideBySide(inputs)) {
      for (size_t i = 0; i < 3; ++i) inputs[i] = Pack((*packed)[i]);
      SetAttribute(fused, "q_num_heads", Shape((*packed)[0])[2].value);
      SetAttribute(fused, "kv_num_heads", Shape((*packed)[1])[2].value);
      output = Unpack();
    }
    fused.inputs.assign(inputs.begin(), inputs.end());
    if (mask != kNone) fused.inputs.push_back(mask);
    fused.outputs = {output};
    graph_.AddNode(std::move(fused), pattern_.matmul);
  }

 private:
  const SymbolicShape& Shape(ValueIndex value) const { return *ShapeOf(graph_, value); }

  ValueIndex NewValue(SymbolicShape shape) { return NewValue(std::move(shape), ElementOf(graph_, pattern_.q)); }
  ValueIndex NewValue(SymbolicShape shape, ElementType element) {
    TypeInfo type = graph_.value(pattern_.q).type;
    type.element = element;
    type.shape = std::move(shape);
    return graph_.AddValue("", std::move(type));
  }

  Node& Add(std::string_view op_type, std::vector<ValueIndex> inputs, ValueIndex output) {
    return AddOperator(graph_, op_type, std::move(inputs), output, pattern_.matmul);
  }

  /// Keys as rows, from the transposed ones.
  ValueIndex Keys() {
    const ValueIndex value = pattern_.transposed_k;
    Permutation perm(Shape(value).size());
    std::iota(perm.begin(), perm.end(), 0);
    const NodeIndex producer = graph_.value(value).producer;
    const auto before = producer == kNone ? std::nullopt : PermutationOf(graph_, graph_.node(producer));
    const ValueIndex source = before ? graph_.node(producer).inputs[0] : value;
    if (before) perm = *before;
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    if (std::is_sorted(perm.begin(), perm.end())) return source;
    SymbolicShape permuted;
    for (const int64_t axis : perm) permuted.push_back(Shape(source)[static_cast<size_t>(axis)]);
    const ValueIndex keys = NewValue(std::move(permuted));
    SetAttribute(Add("Transpose", {source}, keys), "perm", perm);
    return keys;
  }

  /// One additive mask of all of them, from the innermost outwards; kNone without any.
  ValueIndex Mask() {
    ValueIndex sum = kNone;
    for (auto mask = pattern_.masks.rbegin(); mask != pattern_.masks.rend(); ++mask) {
      if (mask->fill == kNone) {
        sum = sum == kNone ? mask->value : Sum(sum, mask->value);
        continue;
      }
      Tensor number = Fill(*mask);
      Tensor zero = number.Clone();
      std::memset(zero.mutable_raw(), 0, zero.byte_size());
      const ValueIndex masked = graph_.AddConstant("", std::move(number));
      const ValueIndex kept = sum == kNone ? graph_.AddConstant("", std::move(zero)) : sum;
      sum = NewValue(sum == kNone ? Shape(mask->value) : Broadcast(Shape(sum), Shape(mask->value)), MaskType());
      Add("Where", {mask->value, mask->inverted ? masked : kept, mask->inverted ? kept : masked}, sum);
    }
    if (sum == kNone || pattern_.floor == kNone) return sum;
    const ValueIndex floored = NewValue(Shape(sum));
    const Tensor floor = graph_.constant(pattern_.floor)->Reshaped({});
    Add("Max", {sum, graph_.AddConstant("", floor)}, floored);
    return floored;
  }

  ValueIndex Sum(ValueIndex a, ValueIndex b) {
    const ValueIndex both = NewValue(Broadcast(Shape(a), Shape(b)));
    Add("Add", {a, b}, both);
    return both;
  }

  /// What is added to the scores that `mask` replaces by a number. Where it replaces all of a row's, that row weighs all
  /// values the same, so that nothing may be left of the scores.
  Tensor Fill(const MaskTerm& mask) const {
    const Tensor number = graph_.constant(mask.fill)->Reshaped({});
    const double fill = *ScalarOf(&number);
    return AllReplace() ? FromDoubles(MaskType(), {}, {std::isfinite(fill) ? std::min(fill, kAbsorbing) : fill})
                        : number.Clone();
  }

  bool AllReplace() const {
    return std::ranges::all_of(pattern_.masks, [](const MaskTerm& mask) { return mask.fill != kNone; });
  }

  /// The scores', or where masks replace halves one that holds a number so low.
  ElementType MaskType() const {
    const ElementType type = ElementOf(graph_, pattern_.q);
    return type != ElementType::kDouble && AllReplace() ? ElementType::kFloat : type;
  }

  static SymbolicShape Broadcast(SymbolicShape a, SymbolicShape b) {
    if (a.size() < b.size()) std::swap(a, b);
    for (size_t i = 0; i < b.size(); ++i) {
      Dimension& dim = a[a.size() - b.size() + i];
      if (dim.value == 1) {
        dim = b[i];
      } else if (b[i].value != 1 && !SameDimension(dim, b[i])) {
        dim = {};
      }
    }
    return a;
  }

  static SymbolicShape WithBatch(SymbolicShape shape) {
    shape.insert(shape.begin(), Dimension{.value = 1, .symbol = {}});
    return shape;
  }

  /// Unsqueeze and Squeeze of dimension 0; axes were an attribute before version 13.
  void ChangeRank(std::string_view op_type, ValueIndex from, ValueIndex to) {
    const std::vector<int64_t> axes = {0};
    if (VersionOf(graph_, op_type) >= 13) {
      Add(op_type, {from, AddIntegers(graph_, axes)}, to);
    } else {
      SetAttribute(Add(op_type, {from}, to), "axes", axes);
    }
  }
  ValueIndex Unsqueeze(ValueIndex value) {
    const ValueIndex lifted = NewValue(WithBatch(Shape(value)));
    ChangeRank("Unsqueeze", value, lifted);
    return lifted;
  }
  void Squeeze(ValueIndex from) { ChangeRank("Squeeze", from, result_); }

  /// What queries, keys and values are before Transpose gave each head its own rows, when the result is transposed back.
  std::optional<std::array<ValueIndex, 3>> SideBySide(const std::array<ValueIndex, 3>& inputs) const {
    const auto by_rows = [&](const Node* node) { return node != nullptr && PermutationOf(graph_, *node) == kHeadsFirst; };
    std::array<ValueIndex, 3> before;
    for (size_t i = 0; i < 3; ++i) {
      const NodeIndex producer = graph_.value(inputs[i]).producer;
      if (producer == kNone || !by_rows(&graph_.node(producer))) return std::nullopt;
      before[i] = graph_.node(producer).inputs[0];
      if (!Shape(before[i])[2].known() || !Shape(before[i])[3].known()) return std::nullopt;
    }
    const Node* after = OnlyReader(graph_, result_);
    if (!by_rows(after)) return std::nullopt;
    const SymbolicShape* apart = ShapeOf(graph_, after->outputs[0]);
    return apart != nullptr && apart->size() == 4 && (*apart)[2].known() && (*apart)[3].known() ? std::optional(before)
                                                                                                : std::nullopt;
  }

  static SymbolicShape Packed(const SymbolicShape& apart) {
    return {apart[0], apart[1], Dimension{.value = apart[2].value * apart[3].value, .symbol = {}}};
  }

  /// [batch, rows, heads, width] as [batch, rows, heads * width].
  ValueIndex Pack(ValueIndex value) {
    const ValueIndex packed = NewValue(Packed(Shape(value)));
    Add("Reshape", {value, AddIntegers(graph_, std::vector<int64_t>{0, 0, Shape(packed)[2].value})}, packed);
    return packed;
  }

  /// The other way round, instead of the Transpose after the MatMul.
  ValueIndex Unpack() {
    const Node& after = *OnlyReader(graph_, result_);
    const NodeIndex index = after.index;
    const ValueIndex unpacked = after.outputs[0];
    const SymbolicShape apart = Shape(unpacked);
    const ValueIndex packed = NewValue(Packed(apart));
    graph_.RemoveNode(index);
    Add("Reshape", {packed, AddIntegers(graph_, std::vector<int64_t>{0, 0, apart[2].value, apart[3].value})}, unpacked);
    return packed;
  }

  Graph& graph_;
  const AttentionPattern& pattern_;
  const ValueIndex result_;
};

/// Whether a row's scores may all become minus infinity.
bool MayLeaveNothing(const Graph& graph, const AttentionPattern& pattern) {
  return std::ranges::any_of(pattern.masks, [&](const MaskTerm& mask) {
    return mask.fill == kNone || !std::isfinite(*ScalarOf(graph.constant(mask.fill)));
  });
}

class AttentionRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    auto pattern = Match(graph, graph.node(index));
    if (!pattern) return false;
    const ValueIndex result = graph.node(pattern->matmul).outputs[0];
    const ElementType type = ElementOf(graph, pattern->q);
    const bool has_tools =
        VersionOf(graph, "Add") >= 7 && VersionOf(graph, "Where") > 0 && VersionOf(graph, "Reshape") >= 5;
    if (!ShapesFit(graph, *pattern) || !has_tools || type == ElementType::kUndefined) return false;
    for (const ValueIndex value : {pattern->transposed_k, pattern->v, result}) {
      if (ElementOf(graph, value) != type) return false;
    }
    const size_t rank = ShapeOf(graph, pattern->q)->size();
    if (ShapeOf(graph, result) == nullptr || ShapeOf(graph, result)->size() != rank) return false;
    for (const MaskTerm& mask : pattern->masks) {
      if (!MaskFits(graph, mask, rank, type)) return false;
    }
    Node fused;
    fused.op_type = "Attention";
    fused.since_version = std::max(kAttentionVersion, VersionOf(graph, "Attention"));
    fused.name = graph.node(pattern->matmul).name;
    fused.inputs = {pattern->q, pattern->v, pattern->v};
    fused.outputs = {result};
    const bool broadcasts = !IsPlain(graph, *pattern);
    if (broadcasts && context.writable) return false;  // ONNX has no such operator
    const bool nan_rows = !context.writable && MayLeaveNothing(graph, *pattern);
    if (broadcasts || nan_rows) {
      fused.domain = kTesseraDomain;
      fused.since_version = 1;
      if (broadcasts) SetAttribute(fused, "broadcast", int64_t{1});
      if (nan_rows) SetAttribute(fused, "nan_rows", int64_t{1});
    }
    SetAttribute(fused, "scale", static_cast<float>(pattern->scale));
    if (!MayFuse(graph, fused, context)) return false;
    Builder(graph, *pattern).Replace(std::move(fused));
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeAttention() { return std::make_unique<AttentionRecognition>(); }

}  // namespace tessera
