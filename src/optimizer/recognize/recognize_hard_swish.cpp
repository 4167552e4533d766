// recognize_hard_swish: a sixth of Clip(x + 3, 0, 6) becomes HardSigmoid, and x times that HardSwish, as TensorFlow's
// exporters and others spell them: a convolution in front applies them while its results are in registers.

#include <algorithm>
#include <cmath>

#include "ops/activation/activation.h"
#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/bounds.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

constexpr int kHardSwishVersion = 14, kHardSigmoidVersion = 6, kOfBFloat16 = 22;
constexpr float kSixth = 1.0f / 6;

/// For Clip(x + 3, 0, 6): x.
ValueIndex ClippedOf(const Graph& graph, ValueIndex value) {
  const NodeIndex producer = graph.value(value).producer;
  if (producer == kNone || !IsOp(graph.node(producer), "Clip")) return kNone;
  const auto bounds = BoundsOf(graph, graph.node(producer));
  const Node* sum = Producer(graph, graph.node(producer), 0);
  if (!bounds || bounds->low != 0 || bounds->high != 6 || sum == nullptr) return kNone;
  return OperandBeside(graph, *sum, "Add", 3).value_or(kNone);
}

/// For v / 6: v.
std::optional<ValueIndex> SixfoldOf(const Graph& graph, const Node& node) {
  const auto divided = OperandBeside(graph, node, "Div", 6);
  return divided ? divided : OperandBeside(graph, node, "Mul", 1.0 / 6);
}

/// For HardSigmoid(x) of that slope: x.
ValueIndex GatedOf(const Graph& graph, ValueIndex value) {
  const NodeIndex producer = graph.value(value).producer;
  if (producer == kNone || !IsOp(graph.node(producer), "HardSigmoid")) return kNone;
  const Node& gate = graph.node(producer);
  const ActivationAttributes attributes(gate);
  const bool is_sixth = std::abs(attributes.alpha - kSixth) < 1e-6f && attributes.beta == 0.5f;
  return is_sixth ? gate.inputs[0] : kNone;
}

class HardSwishRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& node = graph.node(index);
    if (!IsOp(node, "Mul") && !IsOp(node, "Div")) return false;
    if (const auto sixfold = SixfoldOf(graph, node)) {
      const ValueIndex x = ClippedOf(graph, *sixfold);
      if (x != kNone) return Replace(graph, index, "HardSigmoid", x, context);
      const NodeIndex producer = graph.value(*sixfold).producer;
      const bool is_product =
          producer != kNone && IsOp(graph.node(producer), "Mul") && graph.node(producer).since_version >= 7;
      return is_product && IsGated(graph, index, graph.node(producer), ClippedOf, context);
    }
    return IsOp(node, "Mul") && node.since_version >= 7 && IsGated(graph, index, node, GatedOf, context);
  }

 private:
  /// Replaces the node where `product` is x times what `source` knows as a gate of x.
  static bool IsGated(Graph& graph, NodeIndex index, const Node& product, ValueIndex (*source)(const Graph&, ValueIndex),
                      const RewriteContext& context) {
    for (const ValueIndex gate : product.inputs) {
      const ValueIndex x = source(graph, gate);
      if (x != kNone && OtherInput(product, gate) == x) return Replace(graph, index, "HardSwish", x, context);
    }
    return false;
  }

  static bool Replace(Graph& graph, NodeIndex index, std::string_view op_type, ValueIndex x,
                      const RewriteContext& context) {
    const Node& node = graph.node(index);
    Node activation;
    activation.op_type = op_type;
    activation.name = node.name;
    activation.since_version =
        op_type == "HardSwish" ? kHardSwishVersion : std::max(VersionOf(graph, "HardSigmoid"), kHardSigmoidVersion);
    activation.inputs = {x};
    activation.outputs = {node.outputs[0]};
    if (ElementOf(graph, x) == ElementType::kBFloat16) activation.since_version = kOfBFloat16;
    if (op_type == "HardSigmoid") {
      SetAttribute(activation, "alpha", kSixth);
      SetAttribute(activation, "beta", 0.5f);
    }
    if (!MayAdd(graph, activation, context)) return false;
    graph.RemoveNode(index);
    graph.AddNode(std::move(activation), index);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeHardSwish() { return std::make_unique<HardSwishRecognition>(); }

}  // namespace tessera
