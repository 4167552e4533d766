// What convolutions over images in blocks of channels do to their sums.

#include <limits>
#include <utility>

#include "ops/nn/blocked_layout.h"

namespace tessera::cpu {

BlockedEpilogue ParseBlockedActivation(const KernelInfo& info) {
  const auto name = info.attribute<std::string>("tessera_activation", "");
  BlockedEpilogue epilogue;
  epilogue.alpha = info.attribute<float>("tessera_alpha", 0);
  epilogue.beta = info.attribute<float>("tessera_beta", 0);
  for (const auto& [known, activation] :
       {std::pair("Relu", BlockedActivation::kClip), std::pair("Clip", BlockedActivation::kClip),
        std::pair("LeakyRelu", BlockedActivation::kLeakyRelu), std::pair("PRelu", BlockedActivation::kPRelu),
        std::pair("HardSigmoid", BlockedActivation::kHardSigmoid), std::pair("HardSwish", BlockedActivation::kHardSwish),
        std::pair("Sigmoid", BlockedActivation::kSigmoid), std::pair("Silu", BlockedActivation::kSilu)}) {
    if (name == known) epilogue.activation = activation;
  }
  Require(name.empty() || epilogue.activation != BlockedActivation::kNone,
          "attribute 'tessera_activation' is '{}', which is not known", name);
  if (name == "Relu") {
    epilogue.alpha = 0;
    epilogue.beta = std::numeric_limits<float>::infinity();
  }
  return epilogue;
}

BlockedEpilogue WithOperands(BlockedEpilogue epilogue, KernelContext& context, const Shape& output) {
  const Tensor* bias = context.input(2);
  const Tensor* residual = context.input(3);
  const Tensor* slopes = context.input(4);
  const int64_t outputs = output[1] * kChannelBlock;
  Require(bias == nullptr || (bias->is(ElementType::kFloat) && bias->num_elements() == outputs),
          "the bias must have {} floats", outputs);
  Require(residual == nullptr || (residual->is(ElementType::kFloat) && residual->shape() == output),
          "what is added is {}, the output is {}", OptionalShape{residual}, output);
  const bool has_slopes = slopes != nullptr && slopes->is(ElementType::kFloat) && slopes->num_elements() == outputs;
  Require(epilogue.activation != BlockedActivation::kPRelu || has_slopes, "the slopes must be {} floats", outputs);
  epilogue.bias = bias == nullptr ? nullptr : bias->data<float>();
  epilogue.residual = residual == nullptr ? nullptr : residual->data<float>();
  epilogue.slopes = slopes == nullptr ? nullptr : slopes->data<float>();
  return epilogue;
}

}  // namespace tessera::cpu
