#include "ops/rnn/recurrent.h"

#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/check.h"
#include "tessera/provider/attributes.h"

namespace tessera {
namespace {

struct FunctionTerms {
  std::string_view name;  // lower case
  RecurrentFunction function;
  bool has_alpha, has_beta;
  float alpha, beta;  // defaults
};

constexpr FunctionTerms kFunctions[] = {
    {"tanh", RecurrentFunction::kTanh, false, false, 0, 0},
    {"sigmoid", RecurrentFunction::kSigmoid, false, false, 0, 0},
    {"relu", RecurrentFunction::kRelu, false, false, 0, 0},
    {"affine", RecurrentFunction::kAffine, true, true, 1, 0},
    {"leakyrelu", RecurrentFunction::kLeakyRelu, true, false, 0.01f, 0},
    {"thresholdedrelu", RecurrentFunction::kThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", RecurrentFunction::kScaledTanh, true, true, 1, 1},
    {"hardsigmoid", RecurrentFunction::kHardSigmoid, true, true, 0.2f, 0.5f},
    {"elu", RecurrentFunction::kElu, true, false, 1, 0},
    {"softsign", RecurrentFunction::kSoftsign, false, false, 0, 0},
    {"softplus", RecurrentFunction::kSoftplus, false, false, 0, 0},
};

const FunctionTerms& FindFunction(std::string_view given) {
  const std::string name = AsciiLower(given);
  for (const FunctionTerms& terms : kFunctions) {
    if (terms.name == name) return terms;
  }
  Fail(ErrorCode::kInvalidGraph, "activation '{}' is unknown", name);
}

/// Of one direction.
std::vector<RecurrentActivation> DefaultActivations(std::string_view op_type) {
  if (op_type == "RNN") return {{RecurrentFunction::kTanh}};
  if (op_type == "GRU") return {{RecurrentFunction::kSigmoid}, {RecurrentFunction::kTanh}};
  return {{RecurrentFunction::kSigmoid}, {RecurrentFunction::kTanh}, {RecurrentFunction::kTanh}};
}

std::vector<RecurrentActivation> ActivationsOf(const Node& node, size_t directions) {
  const std::vector<RecurrentActivation> defaults = DefaultActivations(node.op_type);
  const size_t count = defaults.size() * directions;
  const auto names = AttributeOr<std::vector<std::string>>(node, "activations", {});
  const auto alphas = AttributeOr<std::vector<float>>(node, "activation_alpha", {});
  const auto betas = AttributeOr<std::vector<float>>(node, "activation_beta", {});
  // RNN's schema gives two names by default, whatever the direction.
  Require(names.empty() || names.size() >= count, "{} activations are named, {} are expected", names.size(), count);
  std::vector<RecurrentActivation> activations;
  // One number for each activation, or only for those that take one, in their order.
  size_t alpha = 0, beta = 0;
  for (size_t i = 0; i < count; ++i) {
    if (names.empty()) {
      activations.push_back(defaults[i % defaults.size()]);
      continue;
    }
    const FunctionTerms& terms = FindFunction(names[i]);
    RecurrentActivation activation{terms.function, terms.alpha, terms.beta};
    const size_t a = alphas.size() == names.size() ? i : alpha, b = betas.size() == names.size() ? i : beta;
    if (terms.has_alpha && a < alphas.size()) activation.alpha = alphas[a];
    if (terms.has_beta && b < betas.size()) activation.beta = betas[b];
    alpha += terms.has_alpha;
    beta += terms.has_beta;
    activations.push_back(activation);
  }
  return activations;
}

}  // namespace

RecurrentAttributes::RecurrentAttributes(const Node& node)
    : hidden_size(AttributeOr<int64_t>(node, "hidden_size", 0)),
      batch_first(AttributeOr<int64_t>(node, "layout", 0) != 0),
      input_forget(AttributeOr<int64_t>(node, "input_forget", 0) != 0),
      linear_before_reset(AttributeOr<int64_t>(node, "linear_before_reset", 0) != 0) {
  const auto direction = AttributeOr<std::string>(node, "direction", "forward");
  Require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
          "direction is '{}'; forward, reverse or bidirectional is expected", direction);
  reverse = direction == "reverse";
  if (direction == "bidirectional") directions = 2;
  if (const float* given = FindTyped<float>(node, "clip")) clip = *given;
  Require(clip > 0, "clip is {}", clip);
  Require(hidden_size >= 0 && hidden_size < (int64_t{1} << 31), "hidden_size is {}", hidden_size);
  activations = tessera::ActivationsOf(node, static_cast<size_t>(directions));
  const std::vector<RecurrentActivation> defaults = DefaultActivations(node.op_type);
  default_activations = true;
  for (size_t i = 0; i < activations.size(); ++i) default_activations &= activations[i] == defaults[i % defaults.size()];
}

std::span<const RecurrentActivation> RecurrentAttributes::ActivationsOf(int64_t direction) const {
  const size_t count = activations.size() / static_cast<size_t>(directions);
  return std::span(activations).subspan(static_cast<size_t>(direction) * count, count);
}

}  // namespace tessera
