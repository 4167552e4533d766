// QLinearConv (10): convolution of quantized tensors.

#include "cpu/ops/nn/qlinear_conv.h"

#include "cpu/ops/nn/quantized_conv_kernel.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class QLinearConv final : public QuantizedConvKernel {
 public:
  explicit QLinearConv(const KernelInfo& info) : QuantizedConvKernel(info, kQLinearConv) {}

 private:
  void General(KernelContext& context, const IntegerConv& conv, const IntegerConv::Inputs& inputs) const override {
    Tensor* output = nullptr;
    int32_t* accumulators = nullptr;
    conv.Run(context, inputs, [&](const Shape& shape) -> int32_t* {
      output = context.output(0, shape);
      if (output != nullptr) accumulators = context.scratch<int32_t>(static_cast<size_t>(output->num_elements())).data();
      return accumulators;
    });
    if (output == nullptr || output->num_elements() == 0) return;
    const int64_t outputs = output->shape()[1];
    const int64_t pixels = output->shape().SizeOfRange(2, output->shape().rank());
    const ConvScale scales(context.required_input(1), context.required_input(4), context.required_input(6), outputs);
    const int32_t y_zero = ConvZero(context.input(7), "y_zero_point");
    auto* out = static_cast<uint8_t*>(output->mutable_raw());
    const bool is_signed = IsSigned(output->type());
    context.threads().ParallelFor(
        output->shape()[0] * outputs, static_cast<double>(pixels) * 0.5, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const float scale = scales.of(i % outputs);
            RequantizeRow(accumulators + i * pixels, pixels, &scale, 0, y_zero, is_signed, out + i * pixels);
          }
        });
  }
};

}  // namespace

void RegisterQLinearConv(KernelRegistry& registry) { registry.Add(Op("QLinearConv").Make<QLinearConv>()); }

}  // namespace tessera::cpu
