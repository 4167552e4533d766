// The attributes activations, activation_alpha and activation_beta of the recurrent operators.

#include <algorithm>

#include "base/ascii.h"
#include "cpu/ops/rnn/recurrent.h"

namespace tessera::cpu {
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

}  // namespace

std::vector<RecurrentActivation> ParseActivations(const KernelInfo& info, size_t directions,
                                                  std::initializer_list<RecurrentFunction> defaults) {
  const auto names = info.attribute<std::vector<std::string>>("activations", {});
  const auto alphas = info.attribute<std::vector<float>>("activation_alpha", {});
  const auto betas = info.attribute<std::vector<float>>("activation_beta", {});
  std::vector<RecurrentActivation> activations;
  if (names.empty()) {
    for (size_t d = 0; d < directions; ++d) {
      for (RecurrentFunction function : defaults) activations.push_back({function, 0, 0});
    }
  } else {
    const size_t count = defaults.size() * directions;
    // RNN's schema gives two names by default, whatever the direction.
    Require(names.size() >= count, "{} activations are named, {} are expected", names.size(), count);
    // One number for each activation, or only for those that take one, in their order.
    size_t alpha = 0, beta = 0;
    for (size_t i = 0; i < count; ++i) {
      const FunctionTerms& terms = FindFunction(names[i]);
      RecurrentActivation activation{terms.function, terms.alpha, terms.beta};
      const size_t a = alphas.size() == names.size() ? i : alpha, b = betas.size() == names.size() ? i : beta;
      if (terms.has_alpha && a < alphas.size()) activation.alpha = alphas[a];
      if (terms.has_beta && b < betas.size()) activation.beta = betas[b];
      alpha += terms.has_alpha;
      beta += terms.has_beta;
      activations.push_back(activation);
    }
  }
  return activations;
}

}  // namespace tessera::cpu
