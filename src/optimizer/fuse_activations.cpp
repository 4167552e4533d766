// fuse_activations: Relu, Clip, LeakyRelu, HardSigmoid or HardSwish after a convolution is applied while its results are in
// registers. Only where the convolution is left to the CPU provider, which reads the attributes; the others fuse for themselves.

#include "optimizer/bounds.h"
#include "optimizer/edit.h"
#include "optimizer/rewrites.h"
#include "optimizer/scalar.h"
#include "partition/left_to_cpu.h"

namespace tessera {
namespace {

struct Activation {
  std::string name;
  float alpha = 0, beta = 0;
};

std::optional<Activation> ActivationOf(const Graph& graph, const Node& node) {
  if (IsOp(node, "Relu")) return Activation{"Relu"};
  if (IsOp(node, "HardSwish")) return Activation{"HardSwish"};
  if (IsOp(node, "LeakyRelu")) return Activation{"LeakyRelu", FloatAttribute(node, "alpha", 0.01f)};
  if (IsOp(node, "HardSigmoid")) {
    return Activation{"HardSigmoid", FloatAttribute(node, "alpha", 0.2f), FloatAttribute(node, "beta", 0.5f)};
  }
  const auto bounds = IsOp(node, "Clip") ? BoundsOf(graph, node) : std::nullopt;
  if (!bounds) return std::nullopt;
  return Activation{"Clip", static_cast<float>(bounds->low), static_cast<float>(bounds->high)};
}

class ActivationFusion final : public NodeRewrite {
 public:
  size_t Run(Graph& graph, RewriteContext& context) override {
    if (context.writable) return 0;
    left_.reset();
    return NodeRewrite::Run(graph, context);
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
    SetAttribute(fused, kFusedActivation, activation->name);
    SetAttribute(fused, "tessera_alpha", activation->alpha);
    SetAttribute(fused, "tessera_beta", activation->beta);
    const NodeIndex gone = after->index;
    graph.RemoveNode(gone);
    graph.RemoveNode(index);
    graph.AddNode(std::move(fused), index);
    return true;
  }

 private:
  /// As the graph was when the first node asked: what this pass makes is no reason to claim more.
  bool IsLeftToCpu(const Graph& graph, NodeIndex index, const RewriteContext& context) {
    if (!left_) left_ = LeftToCpu(graph, context.resources);
    return static_cast<size_t>(index) < left_->size() && (*left_)[static_cast<size_t>(index)];
  }

  std::optional<std::vector<bool>> left_;
};

}  // namespace

std::unique_ptr<Rewrite> FuseActivations() { return std::make_unique<ActivationFusion>(); }

}  // namespace tessera
