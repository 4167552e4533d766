#include "ops/activation/activation.h"

#include <algorithm>
#include <string_view>

#include "tessera/provider/attributes.h"

namespace tessera {
namespace {

struct Parameter {
  std::string_view name;
  float fallback = 0;
};

struct Parameters {
  std::string_view op_type;
  Parameter alpha, beta;
};

constexpr Parameters kParameters[] = {
    {"Celu", {"alpha", 1.0f}, {}},
    {"Elu", {"alpha", 1.0f}, {}},
    {"HardSigmoid", {"alpha", 0.2f}, {"beta", 0.5f}},
    {"LeakyRelu", {"alpha", 0.01f}, {}},
    {"QLinearLeakyRelu", {"alpha", 0.01f}, {}},
    {"QuickGelu", {"alpha", 1.702f}, {}},
    {"Selu", {"alpha", 1.67326319217681884765625f}, {"gamma", 1.05070102214813232421875f}},
    {"Shrink", {"lambd", 0.5f}, {"bias", 0.0f}},
    {"SwiGLU", {"alpha", 1.0f}, {}},
    {"Swish", {"alpha", 1.0f}, {}},
    {"ThresholdedRelu", {"alpha", 1.0f}, {}},
};
constexpr Parameters kFirstSelu = {"Selu", {"alpha", 1.6732f}, {"gamma", 1.0507f}};

const Parameters* ParametersOf(const Node& node) {
  if (node.op_type == "Selu" && node.since_version < 6) return &kFirstSelu;
  const auto* found = std::ranges::find(kParameters, node.op_type, &Parameters::op_type);
  return found == std::end(kParameters) ? nullptr : found;
}

float Read(const Node& node, const Parameter& parameter) {
  return parameter.name.empty() ? 0 : AttributeOr<float>(node, parameter.name, parameter.fallback);
}

}  // namespace

ActivationAttributes::ActivationAttributes(const Node& node) {
  const Parameters* parameters = ParametersOf(node);
  if (parameters == nullptr) return;
  alpha = Read(node, parameters->alpha);
  beta = Read(node, parameters->beta);
}

}  // namespace tessera
