// The epilogue of convolutions in NCHW8c.

#include <limits>
#include <utility>

#include "cpu/ops/nn/nchw8c_layout.h"

namespace tessera::cpu {

Nchw8cEpilogue ParseNchw8cActivation(const KernelInfo& info) {
  const auto name = info.attribute<std::string>("activation", "");
  Nchw8cEpilogue epilogue;
  epilogue.alpha = info.attribute<float>("activation_alpha", 0);
  epilogue.beta = info.attribute<float>("activation_beta", 0);
  for (const auto& [known, activation] :
       {std::pair("Relu", Nchw8cActivation::kClip), std::pair("Clip", Nchw8cActivation::kClip),
        std::pair("LeakyRelu", Nchw8cActivation::kLeakyRelu), std::pair("PRelu", Nchw8cActivation::kPRelu),
        std::pair("HardSigmoid", Nchw8cActivation::kHardSigmoid), std::pair("HardSwish", Nchw8cActivation::kHardSwish),
        std::pair("Sigmoid", Nchw8cActivation::kSigmoid), std::pair("Silu", Nchw8cActivation::kSilu)}) {
    if (name == known) epilogue.activation = activation;
  }
  Require(name.empty() || epilogue.activation != Nchw8cActivation::kNone,
          "attribute 'activation' is '{}', which is not known", name);
  if (name == "Relu") {
    epilogue.alpha = 0;
    epilogue.beta = std::numeric_limits<float>::infinity();
  }
  return epilogue;
}

Nchw8cEpilogue WithOperands(Nchw8cEpilogue epilogue, KernelContext& context, const Shape& output) {
  const Tensor* bias = context.input(2);
  const Tensor* residual = context.input(3);
  const Tensor* slopes = context.input(4);
  const int64_t outputs = output[1] * kChannelBlock;
  Require(bias == nullptr || (bias->is(ElementType::kFloat) && bias->num_elements() == outputs),
          "the bias must have {} floats", outputs);
  Require(residual == nullptr || (residual->is(ElementType::kFloat) && residual->shape() == output),
          "what is added is {}, the output is {}", OptionalShape{residual}, output);
  const bool has_slopes = slopes != nullptr && slopes->is(ElementType::kFloat) && slopes->num_elements() == outputs;
  Require(epilogue.activation != Nchw8cActivation::kPRelu || has_slopes, "the slopes must be {} floats", outputs);
  epilogue.bias = bias == nullptr ? nullptr : bias->data<float>();
  epilogue.residual = residual == nullptr ? nullptr : residual->data<float>();
  epilogue.slopes = slopes == nullptr ? nullptr : slopes->data<float>();
  return epilogue;
}

}  // namespace tessera::cpu
