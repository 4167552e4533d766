// ConvInteger (10): convolution of 8-bit integers, accumulators in int32.

#include "cpu/ops/nn/quantized_conv_kernel.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class ConvInteger final : public QuantizedConvKernel {
 public:
  explicit ConvInteger(const KernelInfo& info) : QuantizedConvKernel(info, kConvInteger) {}

 private:
  void General(KernelContext& context, const IntegerConv& conv, const IntegerConv::Inputs& inputs) const override {
    conv.Run(context, inputs, [&](const Shape& shape) -> int32_t* {
      Tensor* output = context.output(0, shape);
      return output == nullptr ? nullptr : output->mutable_data<int32_t>();
    });
  }
};

}  // namespace

void RegisterConvInteger(KernelRegistry& registry) { registry.Add(Op("ConvInteger").Make<ConvInteger>()); }

}  // namespace tessera::cpu
