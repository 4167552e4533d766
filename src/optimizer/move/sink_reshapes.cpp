// sink_reshapes: a Reshape of [batch, heads, rows, width] to [batch * heads, rows, width] moves behind the MatMuls,
// Softmax and elementwise operators that read it, until the Reshape that splits batch and heads again cancels it:
// attention then stands there without Reshape, whichever way its exporter spelled it.

#include <algorithm>
#include <set>

#include "base/symbolic_shape.h"
#include "graph/op_traits.h"
#include "ops/normalization/softmax.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// A Reshape that merges the first two of four dimensions, all of them known.
struct Merge {
  NodeIndex reshape = kNone;
  ValueIndex source = kNone;
  Shape parted;
};

bool HasElements(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t dim) { return dim > 0; });
}

std::optional<Merge> MergeBefore(const Graph& graph, ValueIndex value) {
  const Node* reshape = Producer(graph, value);
  if (reshape == nullptr || !IsOp(*reshape, "Reshape")) return std::nullopt;
  const ValueIndex source = reshape->inputs[0];
  const auto from = StaticShapeOf(graph, source), to = StaticShapeOf(graph, value);
  if (!from || !to || from->rank() != 4 || to->rank() != 3 || !HasElements(*from) || !HasElements(*to)) return std::nullopt;
  if ((*from)[2] != (*to)[1] || (*from)[3] != (*to)[2] || (*from)[0] * (*from)[1] != (*to)[0]) return std::nullopt;
  return Merge{reshape->index, source, *from};
}

class ReshapeSinking final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& node = graph.node(index);
    if (!HasOneOutput(node) || VersionOf(graph, "Reshape") < 5) return false;
    const auto merge = FirstMerge(graph, node);
    if (merge && IsOp(node, "Reshape")) return Undo(graph, index, *merge);
    const auto merged = StaticShapeOf(graph, node.outputs[0]);
    if (!merge || !merged || merged->rank() != 3 || !HasElements(*merged)) return false;
    if ((*merged)[0] != merge->parted[0] * merge->parted[1]) return false;
    Node parted = node;
    if (!Part(graph, node, *merge, parted)) return false;
    for (ValueIndex& input : parted.inputs) input = Parted(graph, input, *merge, index);
    SymbolicShape shape = ToSymbolic({merge->parted[0], merge->parted[1], (*merged)[1], (*merged)[2]});
    const ValueIndex result = node.outputs[0];
    const ValueIndex apart = graph.AddValue("", TypeInfo::OfTensor(ElementOf(graph, result), std::move(shape)));
    parted.outputs = {apart};
    std::set<NodeIndex> before;
    for (const ValueIndex input : node.inputs) {
      if (const auto other = MergeBefore(graph, input)) before.insert(other->reshape);
    }
    graph.RemoveNode(index);
    graph.AddNode(std::move(parted), index);
    AddReshape(graph, apart, result, *merged, index);
    for (const NodeIndex reshape : before) RemoveUnread(graph, reshape);
    return true;
  }

 private:
  /// Removes the Reshape that splits batch and heads as they were.
  static bool Undo(Graph& graph, NodeIndex index, const Merge& merge) {
    const Node& node = graph.node(index);
    const bool same = MergeBefore(graph, node.inputs[0]) && StaticShapeOf(graph, node.outputs[0]) == merge.parted &&
                      ElementOf(graph, merge.source) == ElementOf(graph, node.outputs[0]);
    if (!same || !BypassNode(graph, index, merge.source)) return false;
    RemoveUnread(graph, merge.reshape);
    return true;
  }

  static std::optional<Merge> FirstMerge(const Graph& graph, const Node& node) {
    for (const ValueIndex input : node.inputs) {
      if (auto merge = MergeBefore(graph, input)) return merge;
    }
    return std::nullopt;
  }

  /// Whether the node may read values of four dimensions; makes its attributes those for them.
  static bool Part(const Graph& graph, const Node& node, const Merge& merge, Node& parted) {
    if (ElementOf(graph, node.outputs[0]) == ElementType::kUndefined) return false;
    const int64_t count = merge.parted[0] * merge.parted[1];
    if (IsOp(node, "Transpose")) {
      if (PermutationOf(graph, node) != Permutation{0, 2, 1}) return false;
      SetAttribute(parted, "perm", Permutation{0, 1, 3, 2});
      return true;
    }
    if (IsOp(node, "Softmax")) {
      const int64_t axis = SoftmaxAttributes(node).axis;
      if (axis != -1 && axis != 2) return false;
      SetAttribute(parted, "axis", int64_t{3});
      return true;
    }
    const bool is_matmul = IsOp(node, "MatMul");
    if (!is_matmul && !TraitsOf(graph, node).IsElementwise()) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueIndex input) {
      const auto shape = input == kNone ? std::nullopt : StaticShapeOf(graph, input);
      if (!shape || !HasElements(*shape)) return false;
      if (is_matmul) return shape->rank() == 3 && (*shape)[0] == count && !graph.value(input).constant;
      return shape->rank() < 3 || (shape->rank() == 3 && ((*shape)[0] == 1 || (*shape)[0] == count));
    });
  }

  /// The input with batch and heads apart, or itself where it broadcasts to both.
  static ValueIndex Parted(Graph& graph, ValueIndex input, const Merge& merge, NodeIndex before) {
    const auto own = MergeBefore(graph, input);
    if (own && own->parted[0] == merge.parted[0] && own->parted[1] == merge.parted[1]) return own->source;
    const Shape shape = *StaticShapeOf(graph, input);
    const bool broadcasts = shape.rank() < 3 || (shape[0] == 1 && merge.parted[0] * merge.parted[1] != 1);
    if (broadcasts) return input;
    const Shape target{merge.parted[0], merge.parted[1], shape[1], shape[2]};
    const ValueIndex apart = graph.AddValue("", TypeInfo::OfTensor(ElementOf(graph, input), ToSymbolic(target)));
    AddReshape(graph, input, apart, target, before);
    return apart;
  }

  static void AddReshape(Graph& graph, ValueIndex from, ValueIndex to, const Shape& target, NodeIndex before) {
    AddOperator(graph, "Reshape", {from, AddIntegers(graph, target.dims())}, to, before);
  }
};

}  // namespace

std::unique_ptr<Rewrite> SinkReshapes() { return std::make_unique<ReshapeSinking>(); }

}  // namespace tessera
