// fuse_activations: a convolution with Relu, Clip, LeakyRelu, HardSigmoid or HardSwish after it becomes FusedConv
// (ai.tessera), which applies the activation while results are in registers.

#include "cpu/lowering/fuse/activation.h"
#include "cpu/lowering/lowering.h"
#include "graph/private_names.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"

namespace tessera {
namespace {

class ActivationFusion final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& conv = graph.node(index);
    if (!IsOp(conv, "Conv") || !HasOneOutput(conv)) return false;
    const ValueIndex between = conv.outputs[0];
    const Node* after = OnlyReader(graph, between);
    if (after == nullptr || after->inputs[0] != between || !HasOneOutput(*after)) return false;
    if (ElementOf(graph, between) != ElementType::kFloat) return false;
    const auto activation = ActivationInRegisters(graph, *after);
    if (!activation || !context.Lowers(conv) || !context.Lowers(*after)) return false;
    Node fused = conv;
    fused.domain = kTesseraDomain;
    fused.op_type = "FusedConv";
    fused.since_version = 1;
    fused.outputs = after->outputs;
    cpu::SetActivation(fused, *activation);
    const NodeIndex gone = after->index;
    graph.RemoveNode(gone);
    graph.RemoveNode(index);
    graph.AddNode(std::move(fused), index);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FuseActivations() { return std::make_unique<ActivationFusion>(); }

}  // namespace tessera
