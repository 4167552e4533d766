// QLinearConv (10): convolution of quantized tensors.

#include "cpu/ops/nn/qlinear_conv.h"

#include <optional>

#include "cpu/ops/nn/quantized_conv.h"
#include "cpu/ops/nn/small_quantized_conv.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class QLinearConv final : public Kernel {
 public:
  explicit QLinearConv(const KernelInfo& info) : algorithm_(ChooseQuantizedConv(info, kQLinearConv)) {
    switch (algorithm_) {
      case ConvAlgorithm::kBatchedIm2col: small_.emplace(info, kQLinearConv); break;
      case ConvAlgorithm::kIm2col:
      case ConvAlgorithm::kDepthwise: fast_.emplace(info, kQLinearConv); break;
      default: conv_.emplace(info, kQLinearConv.weights, kQLinearConv.w_zero);
    }
  }

  void Compute(KernelContext& context) override {
    small_ ? Fast(context, *small_) : fast_ ? Fast(context, *fast_) : General(context);
  }

  std::string Implementation(KernelContext& /*context*/) override { return std::string(NameOf(algorithm_)); }

 private:
  template <class C>
  static void Fast(KernelContext& context, const C& conv) {
    const Tensor& x = context.required_input(0);
    const Tensor* bias = context.input(8);
    const Window window = conv.Fit(x.shape(), bias);
    Shape shape{x.shape()[0], conv.outputs()};
    for (const int64_t dim : window.output) shape.Append(dim);
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    conv.Run(context, window, *output);
  }

  void General(KernelContext& context) const {
    const IntegerConv::Inputs inputs{&context.required_input(0),
                                     conv_->has_weights() ? nullptr : &context.required_input(3), context.input(2),
                                     context.input(5), context.input(8)};
    Tensor* output = nullptr;
    int32_t* accumulators = nullptr;
    conv_->Run(context, inputs, [&](const Shape& shape) -> int32_t* {
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

  ConvAlgorithm algorithm_;
  std::optional<SmallQuantizedConv> small_;
  std::optional<QuantizedConv> fast_;
  std::optional<IntegerConv> conv_;
};

}  // namespace

void RegisterQLinearConv(KernelRegistry& registry) { registry.Add(Op("QLinearConv").Make<QLinearConv>()); }

}  // namespace tessera::cpu
