// merge_casts: a Cast of a Cast that loses nothing is one Cast of what that read, or none where the first type is back.

#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// Types that hold every value of `type`.
TypeSet Holding(ElementType type) {
  using enum ElementType;
  switch (type) {
    case kBool:
      return {kUInt8, kInt8, kUInt16, kInt16, kInt32, kInt64, kUInt32, kUInt64, kFloat16, kBFloat16, kFloat, kDouble};
    case kInt8: return {kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat, kDouble};
    case kUInt8: return {kUInt16, kInt16, kInt32, kInt64, kUInt32, kUInt64, kFloat16, kBFloat16, kFloat, kDouble};
    case kInt16: return {kInt32, kInt64, kFloat, kDouble};
    case kUInt16: return {kInt32, kInt64, kUInt32, kUInt64, kFloat, kDouble};
    case kInt32: return {kInt64, kDouble};
    case kUInt32: return {kInt64, kUInt64, kDouble};
    case kFloat16:
    case kBFloat16: return {kFloat, kDouble};
    case kFloat: return {kDouble};
    default: return {};
  }
}

class CastMerging final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& node = graph.node(index);
    const Node* first = IsOp(node, "Cast") ? Producer(graph, node, 0) : nullptr;
    if (first == nullptr || !IsOp(*first, "Cast") || !HasInput(*first, 0)) return false;
    const ValueIndex source = first->inputs[0];
    if (ElementOf(graph, node.outputs[0]) == ElementType::kString) return false;  // its text depends on the type
    if (!Holding(ElementOf(graph, source)).contains(ElementOf(graph, node.inputs[0]))) return false;
    if (ElementOf(graph, source) == ElementOf(graph, node.outputs[0]) && BypassNode(graph, index, source)) return true;
    graph.SetInput(index, 0, source);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> MergeCasts() { return std::make_unique<CastMerging>(); }

}  // namespace tessera
