// The epilogue of convolutions in NCHW8c.

#include "cpu/ops/nn/nchw8c_layout.h"

namespace tessera::cpu {

Epilogue<float> EpilogueOf(const Activation<float>& activation, KernelContext& context, const Shape& output) {
  const Tensor* bias = context.input(2);
  const Tensor* residual = context.input(3);
  const Tensor* slopes = context.input(4);
  const int64_t outputs = output[1] * kChannelBlock;
  Require(bias == nullptr || (bias->is(ElementType::kFloat) && bias->num_elements() == outputs),
          "the bias must have {} floats", outputs);
  Require(residual == nullptr || (residual->is(ElementType::kFloat) && residual->shape() == output),
          "what is added is {}, the output is {}", OptionalShape{residual}, output);
  const bool has_slopes = slopes != nullptr && slopes->is(ElementType::kFloat) && slopes->num_elements() == outputs;
  Require(activation.kind != ActivationKind::kPRelu || has_slopes, "the slopes must be {} floats", outputs);
  return {.bias = bias == nullptr ? nullptr : bias->data<float>(),
          .residual = residual == nullptr ? nullptr : residual->data<float>(),
          .slopes = slopes == nullptr ? nullptr : slopes->data<float>(),
          .activation = activation};
}

}  // namespace tessera::cpu
