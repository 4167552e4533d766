#include "optimizer/analysis/attention_builder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"

namespace tessera {
namespace {

constexpr int kAttentionVersion = 23;  // the first
const Permutation kHeadsFirst = {0, 2, 1, 3};

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

}  // namespace

Node AttentionOf(const Graph& graph, const AttentionPattern& pattern) {
  const Node& matmul = graph.node(pattern.matmul);
  Node fused;
  fused.op_type = "Attention";
  fused.since_version = std::max(kAttentionVersion, VersionOf(graph, "Attention"));
  fused.name = matmul.name;
  fused.inputs = {pattern.q, pattern.v, pattern.v};
  fused.outputs = {matmul.outputs[0]};
  SetAttribute(fused, "scale", static_cast<float>(pattern.scale));
  return fused;
}

void ReplaceByAttention(Graph& graph, const AttentionPattern& pattern, Node fused) {
  Builder(graph, pattern).Replace(std::move(fused));
}

}  // namespace tessera
