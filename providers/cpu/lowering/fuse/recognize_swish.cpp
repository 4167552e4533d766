// recognize_swish: x sigmoid(alpha x) becomes Swish. After the passes that fuse such an activation into a convolution, and
// only where it is left to the CPU provider: others make one kernel of such a chain themselves.

#include "cpu/lowering/lowering.h"
#include "lowering/fused_kernels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"

namespace tessera {
namespace {

constexpr int kSwishVersion = 24;

/// For `inner` equal to alpha x: alpha.
std::optional<double> FactorOf(const Graph& graph, ValueIndex inner, ValueIndex x) {
  if (inner == x) return 1;
  const NodeIndex producer = graph.value(inner).producer;
  if (producer == kNone || !IsOp(graph.node(producer), "Mul")) return std::nullopt;
  const Node& node = graph.node(producer);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const auto factor = ScalarOf(ConstantInput(graph, node, i));
    if (factor && OtherInput(node, node.inputs[i]) == x && OperandBeside(graph, node, "Mul", *factor) == x) return factor;
  }
  return std::nullopt;
}

class SwishRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& sigmoid = graph.node(index);
    if (!IsOp(sigmoid, "Sigmoid") || !HasInput(sigmoid, 0)) return false;
    const Node* mul = OnlyReader(graph, sigmoid.outputs[0]);
    if (mul == nullptr || !IsOp(*mul, "Mul") || mul->since_version < 7) return false;
    const ValueIndex x = OtherInput(*mul, sigmoid.outputs[0]);
    if (x == kNone || x == sigmoid.outputs[0]) return false;
    const auto alpha = FactorOf(graph, sigmoid.inputs[0], x);
    if (!alpha || !context.Lowers(graph.node(index)) || !context.Lowers(graph.node(mul->index))) return false;
    Node swish;
    swish.op_type = "Swish";
    swish.name = mul->name;
    swish.since_version = kSwishVersion;
    swish.inputs = {x};
    swish.outputs = {mul->outputs[0]};
    SetAttribute(swish, "alpha", static_cast<float>(*alpha));
    if (ElementOf(graph, x) != ElementOf(graph, swish.outputs[0]) || !MayFuse(graph, swish, context)) return false;
    const NodeIndex before = mul->index;
    graph.RemoveNode(before);
    const NodeIndex scaling = sigmoid.inputs[0] == x ? kNone : graph.value(sigmoid.inputs[0]).producer;
    graph.RemoveNode(index);
    if (scaling != kNone) RemoveUnread(graph, scaling);  // dead nodes are removed before the last passes run
    graph.AddNode(std::move(swish), before);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeSwish() { return std::make_unique<SwishRecognition>(); }

}  // namespace tessera
