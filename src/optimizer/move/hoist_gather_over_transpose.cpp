// hoist_gather_over_transpose: of a Transpose whose readers all pick one slice each (Gather with a single index), the
// slices are picked from its input and transposed by themselves. Queries, keys and values of one MatMul are separated
// like that; each is then an operand of attention that it reads in place, without Transpose.

#include <algorithm>

#include "ops/movement/gather.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// The dimension of its data from which a node picks one index.
std::optional<size_t> PickedAxis(const Graph& graph, const Node& node, ValueIndex data, size_t rank) {
  if (!IsOp(node, "Gather") || node.inputs.size() != 2 || node.inputs[0] != data || node.inputs[1] == data)
    return std::nullopt;
  const SymbolicShape* index = ShapeOf(graph, node.inputs[1]);
  if (index == nullptr || !index->empty()) return std::nullopt;
  return AxisWithin(GatherAttributes(node).axis, rank);
}

class PickingBeforeTransposes final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& transpose = graph.node(index);
    if (!IsOp(transpose, "Transpose") || !HasInput(transpose, 0)) return false;
    const auto perm = PermutationOf(graph, transpose);
    const GraphValue& result = graph.value(transpose.outputs[0]);
    if (!perm || perm->size() < 2 || result.is_output || result.consumers.empty()) return false;
    const SymbolicShape* from = ShapeOf(graph, transpose.inputs[0]);
    const std::vector<NodeIndex> readers = result.consumers;
    for (const NodeIndex reader : readers) {
      const auto axis = PickedAxis(graph, graph.node(reader), transpose.outputs[0], perm->size());
      if (!axis) return false;
      const auto source = static_cast<size_t>((*perm)[*axis]);
      // No more may be transposed than was, and no single elements picked.
      const bool fewer = (*from)[source].known() && static_cast<int64_t>(readers.size()) <= (*from)[source].value;
      if (!fewer || source + 1 == perm->size()) return false;
    }
    const ValueIndex source = transpose.inputs[0], transposed = transpose.outputs[0];
    for (const NodeIndex reader : readers) {
      PickFirst(graph, reader, source, *perm, *PickedAxis(graph, graph.node(reader), transposed, perm->size()));
    }
    RemoveUnread(graph, index);
    return true;
  }

 private:
  static void PickFirst(Graph& graph, NodeIndex reader, ValueIndex source, const Permutation& perm, size_t axis) {
    Permutation rest;
    for (size_t i = 0; i < perm.size(); ++i) {
      if (i != axis) rest.push_back(perm[i] - (perm[i] > perm[axis] ? 1 : 0));
    }
    Node pick = graph.node(reader);
    const ValueIndex result = pick.outputs[0];
    pick.inputs[0] = source;
    SetAttribute(pick, "axis", perm[axis]);
    graph.RemoveNode(reader);
    if (std::is_sorted(rest.begin(), rest.end())) {
      graph.AddNode(std::move(pick), reader);
      return;
    }
    SymbolicShape shape = *ShapeOf(graph, source);
    shape.erase(shape.begin() + static_cast<ptrdiff_t>(perm[axis]));
    const ValueIndex picked = graph.AddValue("", TypeInfo::OfTensor(ElementOf(graph, source), std::move(shape)));
    pick.outputs = {picked};
    graph.AddNode(std::move(pick), reader);
    SetAttribute(AddOperator(graph, "Transpose", {picked}, result, reader), "perm", rest);
  }
};

}  // namespace

std::unique_ptr<Rewrite> HoistGatherOverTranspose() { return std::make_unique<PickingBeforeTransposes>(); }

}  // namespace tessera
