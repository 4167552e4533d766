#include "cpu/lowering/fuse/activation.h"

#include "graph/private_names.h"
#include "ops/activation/activation.h"
#include "optimizer/analysis/bounds.h"
#include "optimizer/analysis/edit.h"

namespace tessera {

using cpu::Activation;
using cpu::ActivationKind;

std::optional<Activation<float>> ActivationOf(const Graph& graph, const Node& node) {
  const auto make = [](ActivationKind kind, float alpha = 0, float beta = 0) {
    return Activation<float>{kind, alpha, beta};
  };
  if (IsOp(node, "Relu")) return make(ActivationKind::kRelu);
  if (IsOp(node, "HardSwish")) return make(ActivationKind::kHardSwish);
  if (IsOp(node, "PRelu")) return make(ActivationKind::kPRelu);
  if (IsOp(node, "Sigmoid")) return make(ActivationKind::kSigmoid);
  if (IsOp(node, "LeakyRelu")) return make(ActivationKind::kLeakyRelu, ActivationAttributes(node).alpha);
  if (IsOp(node, "HardSigmoid")) {
    const ActivationAttributes attributes(node);
    return make(ActivationKind::kHardSigmoid, attributes.alpha, attributes.beta);
  }
  const auto bounds = IsOp(node, "Clip") ? BoundsOf(graph, node) : std::nullopt;
  if (!bounds) return std::nullopt;
  return make(ActivationKind::kClip, static_cast<float>(bounds->low), static_cast<float>(bounds->high));
}

std::optional<Activation<float>> ActivationInRegisters(const Graph& graph, const Node& node) {
  const auto activation = ActivationOf(graph, node);
  return activation && cpu::AppliesInRegisters(activation->kind) ? activation : std::nullopt;
}

bool IsConv(const Node& node) {
  return IsOp(node, "Conv") || (node.domain == kTesseraDomain && node.op_type == "FusedConv");
}

}  // namespace tessera
