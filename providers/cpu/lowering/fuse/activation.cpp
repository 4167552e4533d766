#include "cpu/lowering/fuse/activation.h"

#include "graph/private_names.h"
#include "ops/activation/activation.h"
#include "optimizer/analysis/bounds.h"
#include "optimizer/analysis/edit.h"

namespace tessera {

std::optional<Activation> ActivationOf(const Graph& graph, const Node& node) {
  if (IsOp(node, "Relu")) return Activation{"Relu"};
  if (IsOp(node, "HardSwish")) return Activation{"HardSwish"};
  if (IsOp(node, "LeakyRelu")) return Activation{"LeakyRelu", ActivationAttributes(node).alpha};
  if (IsOp(node, "HardSigmoid")) {
    const ActivationAttributes attributes(node);
    return Activation{"HardSigmoid", attributes.alpha, attributes.beta};
  }
  const auto bounds = IsOp(node, "Clip") ? BoundsOf(graph, node) : std::nullopt;
  if (!bounds) return std::nullopt;
  return Activation{"Clip", static_cast<float>(bounds->low), static_cast<float>(bounds->high)};
}

void SetActivation(Node& node, const Activation& activation) {
  SetAttribute(node, "activation", activation.name);
  SetAttribute(node, "activation_alpha", activation.alpha);
  SetAttribute(node, "activation_beta", activation.beta);
}

bool HasActivation(const Node& node) { return node.FindAttribute("activation") != nullptr; }

bool IsConv(const Node& node) {
  return IsOp(node, "Conv") || (node.domain == kTesseraDomain && node.op_type == "FusedConv");
}

}  // namespace tessera
