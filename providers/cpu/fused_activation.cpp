#include "cpu/fused_activation.h"

#include <algorithm>
#include <string_view>

namespace tessera::cpu {
namespace {

struct NamedActivation {
  std::string_view name;
  ActivationKind kind;
};

constexpr NamedActivation kActivations[] = {
    {"", ActivationKind::kNone},
    {"Relu", ActivationKind::kRelu},
    {"Clip", ActivationKind::kClip},
    {"LeakyRelu", ActivationKind::kLeakyRelu},
    {"HardSigmoid", ActivationKind::kHardSigmoid},
    {"HardSwish", ActivationKind::kHardSwish},
    {"PRelu", ActivationKind::kPRelu},
    {"Sigmoid", ActivationKind::kSigmoid},
    {"Silu", ActivationKind::kSilu},
};

}  // namespace

void SetActivation(Node& node, const Activation<float>& activation) {
  const auto* named = std::ranges::find(kActivations, activation.kind, &NamedActivation::kind);
  node.attributes.push_back({"activation", std::string(named->name)});
  node.attributes.push_back({"activation_alpha", activation.alpha});
  node.attributes.push_back({"activation_beta", activation.beta});
}

bool HasActivation(const Node& node) { return node.FindAttribute("activation") != nullptr; }

Activation<float> FusedActivation(const KernelInfo& info) {
  const auto name = info.attribute<std::string>("activation", "");
  const auto* named = std::ranges::find(kActivations, name, &NamedActivation::name);
  Require(named != std::end(kActivations), "attribute 'activation' is '{}', which is not known", name);
  return {named->kind, info.attribute<float>("activation_alpha", 0), info.attribute<float>("activation_beta", 0)};
}

}  // namespace tessera::cpu
