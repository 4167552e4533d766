// fuse_activations: Relu, Clip, LeakyRelu, HardSigmoid or HardSwish after a convolution is applied while its results are in
// registers. Only where the convolution is left to the CPU provider, which reads the attributes; the others fuse for
// themselves.

#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"
#include "optimizer/left_to_cpu_rewrite.h"
#include "optimizer/lowering/fuse/activation.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

class ActivationFusion final : public LeftToCpuRewrite {
 public:
  size_t Run(Graph& graph, RewriteContext& context) override {
    return context.writable ? 0 : LeftToCpuRewrite::Run(graph, context);
  }

 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& conv = graph.node(index);
    if (!IsOp(conv, "Conv") || !HasOneOutput(conv) || conv.FindAttribute(kFusedActivation) != nullptr) return false;
    const ValueIndex between = conv.outputs[0];
    const Node* after = OnlyReader(graph, between);
    if (after == nullptr || after->inputs[0] != between || !HasOneOutput(*after)) return false;
    if (ElementOf(graph, between) != ElementType::kFloat) return false;
    const auto activation = ActivationOf(graph, *after);
    if (!activation || !IsLeftToCpu(graph, index, context)) return false;
    Node fused = conv;
    fused.outputs = after->outputs;
    SetActivation(fused, *activation);
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
