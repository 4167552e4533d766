// fold_reshape_pairs: an elementwise operator with a constant, between a Reshape and the Reshape back, works on the tensor
// as it is elsewhere; the constant is reshaped instead. So masks of windows, which are added where batch and windows are
// apart, come to stand beside the other summands of the scores.

#include <algorithm>

#include "graph/op_traits.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// A constant may become this much larger where it is repeated for what was a dimension of its own: what folding allows,
/// too.
constexpr int64_t kAlwaysFine = int64_t{1} << 20;  // bytes
constexpr int64_t kMostGrowth = 8;                 // times its own

bool IsBinary(const Node& node) { return Has(node, OpTrait::kBroadcasts) && node.inputs.size() == 2; }

/// How a constant comes from broadcasting to `from` to broadcasting to `to`, another shape of as many elements.
struct Carried {
  std::vector<int64_t> expanded;  // first, of the rank of `from`
  std::vector<int64_t> reshaped;  // then, of the rank of `to`
};

/// Dimensions that are joined or parted hold the constant either as often as the tensor has it, or once.
Carried HowToCarry(const Shape& constant, const Shape& from, const Shape& to) {
  Carried carried;
  size_t i = 0, j = 0;
  while (i < from.rank() || j < to.rank()) {
    const size_t first = i, target = j;
    int64_t have = 1, want = 1;
    do {  // until as many dimensions of both have as many elements
      if ((have <= want && i < from.rank()) || j == to.rank()) {
        have *= from[i++];
      } else {
        want *= to[j++];
      }
    } while (have != want);
    const size_t missing = from.rank() - constant.rank();
    const auto own = [&](size_t axis) { return axis < missing ? 1 : constant[axis - missing]; };
    bool varies = false;
    for (size_t axis = first; axis < i; ++axis) varies |= own(axis) != 1;
    for (size_t axis = first; axis < i; ++axis) carried.expanded.push_back(varies ? from[axis] : 1);
    for (size_t axis = target; axis < j; ++axis) carried.reshaped.push_back(varies ? to[axis] : 1);
  }
  return carried;
}

class ReshapeUndoing final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& node = graph.node(index);
    if (!IsBinary(node) || VersionOf(graph, "Reshape") < 5 || VersionOf(graph, "Expand") == 0) return false;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const Node* reshape = Producer(graph, node, side);
      const Tensor* constant = ConstantInput(graph, node, 1 - side);
      if (reshape == nullptr || constant == nullptr || !IsOp(*reshape, "Reshape")) continue;
      return Undo(graph, index, side, reshape->index, context);
    }
    return false;
  }

 private:
  static bool Undo(Graph& graph, NodeIndex index, size_t side, NodeIndex reshape, const RewriteContext& context) {
    const ValueIndex result = graph.node(index).outputs[0], source = graph.node(reshape).inputs[0];
    const Node* back = OnlyReader(graph, result);
    if (back == nullptr || !IsOp(*back, "Reshape") || back->inputs[0] != result) return false;
    const auto plain = StaticShapeOf(graph, source), wrapped = StaticShapeOf(graph, graph.node(reshape).outputs[0]);
    if (!plain || !wrapped || StaticShapeOf(graph, back->outputs[0]) != plain || StaticShapeOf(graph, result) != wrapped)
      return false;
    if (plain->num_elements() == 0 || plain->num_elements() != wrapped->num_elements()) return false;
    const Tensor constant = *ConstantInput(graph, graph.node(index), 1 - side);
    if (constant.shape().rank() > wrapped->rank()) return false;
    const Carried carried = HowToCarry(constant.shape(), *wrapped, *plain);
    if (!Fits(constant, carried, context)) return false;
    const NodeIndex undone = back->index;
    const ValueIndex output = back->outputs[0];
    const ValueIndex operand = Carry(graph, graph.node(index).inputs[1 - side], carried, index);
    Node direct = graph.node(index);
    direct.inputs[side] = source;
    direct.inputs[1 - side] = operand;
    direct.outputs = {output};
    graph.RemoveNode(undone);
    graph.RemoveNode(index);
    graph.AddNode(std::move(direct), index);
    RemoveUnread(graph, reshape);
    return true;
  }

  static bool Fits(const Tensor& constant, const Carried& carried, const RewriteContext& context) {
    int64_t elements = 1;
    for (const int64_t dim : carried.expanded) elements *= dim;  // no more than the tensor's
    const auto own = static_cast<int64_t>(constant.byte_size());
    const auto bytes = static_cast<int64_t>(ByteSize(constant.type(), elements));
    return bytes <= std::min(std::max(kAlwaysFine, kMostGrowth * own), context.folding_budget);
  }

  /// Expand and Reshape of a constant, which are folded.
  static ValueIndex Carry(Graph& graph, ValueIndex constant, const Carried& carried, NodeIndex before) {
    const Shape own = graph.constant(constant)->shape();
    const bool same = own.num_elements() == Shape(std::span<const int64_t>(carried.reshaped)).num_elements();
    const ValueIndex expanded = same ? constant : Add(graph, "Expand", constant, carried.expanded, before);
    return Add(graph, "Reshape", expanded, carried.reshaped, before);
  }

  static ValueIndex Add(Graph& graph, std::string_view op_type, ValueIndex from, const std::vector<int64_t>& dims,
                        NodeIndex before) {
    SymbolicShape shape;
    for (const int64_t dim : dims) shape.push_back(Dimension{.value = dim, .symbol = {}});
    const ValueIndex result = graph.AddValue("", TypeInfo::OfTensor(ElementOf(graph, from), std::move(shape)));
    AddOperator(graph, op_type, {from, AddIntegers(graph, dims)}, result, before);
    return result;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FoldReshapePairs() { return std::make_unique<ReshapeUndoing>(); }

}  // namespace tessera
