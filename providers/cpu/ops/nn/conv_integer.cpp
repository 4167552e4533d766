// ConvInteger (10): convolution of 8-bit integers, sums in int32.

#include "ops/nn/integer_conv.h"
#include "ops/ops.h"

namespace tessera::cpu {
namespace {

class ConvInteger final : public Kernel {
 public:
  explicit ConvInteger(const KernelInfo& info) : conv_(info, 1, 3) {}

  void Compute(KernelContext& context) override {
    const IntegerConv::Inputs inputs{&context.required_input(0), conv_.has_weights() ? nullptr : &context.required_input(1),
                                     context.input(2), context.input(3), nullptr};
    conv_.Run(context, inputs, [&](const Shape& shape) -> int32_t* {
      Tensor* output = context.output(0, shape);
      return output == nullptr ? nullptr : output->mutable_data<int32_t>();
    });
  }

 private:
  IntegerConv conv_;
};

}  // namespace

void RegisterConvInteger(KernelRegistry& registry) { registry.Add(Op("ConvInteger").Make<ConvInteger>()); }

}  // namespace tessera::cpu
