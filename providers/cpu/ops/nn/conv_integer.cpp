// ConvInteger (10): convolution of 8-bit integers, accumulators in int32.

#include <optional>

#include "cpu/ops/nn/integer_conv.h"
#include "cpu/ops/nn/quantized_conv.h"
#include "cpu/ops/nn/small_quantized_conv.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class ConvInteger final : public Kernel {
 public:
  explicit ConvInteger(const KernelInfo& info) : algorithm_(ChooseQuantizedConv(info, kConvInteger)) {
    switch (algorithm_) {
      case ConvAlgorithm::kBatchedIm2col: small_.emplace(info, kConvInteger); break;
      case ConvAlgorithm::kIm2col:
      case ConvAlgorithm::kDepthwise: fast_.emplace(info, kConvInteger); break;
      default: conv_.emplace(info, kConvInteger.weights, kConvInteger.w_zero);
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
    const Window window = conv.Fit(x.shape(), nullptr);
    Shape shape{x.shape()[0], conv.outputs()};
    for (const int64_t dim : window.output) shape.Append(dim);
    Tensor* output = context.output(0, shape);
    if (output != nullptr && output->num_elements() > 0) conv.Run(context, window, *output);
  }

  void General(KernelContext& context) const {
    const IntegerConv::Inputs inputs{&context.required_input(0),
                                     conv_->has_weights() ? nullptr : &context.required_input(kConvInteger.weights),
                                     context.input(kConvInteger.x_zero), context.input(kConvInteger.w_zero), nullptr};
    conv_->Run(context, inputs, [&](const Shape& shape) -> int32_t* {
      Tensor* output = context.output(0, shape);
      return output == nullptr ? nullptr : output->mutable_data<int32_t>();
    });
  }

  ConvAlgorithm algorithm_;
  std::optional<SmallQuantizedConv> small_;
  std::optional<QuantizedConv> fast_;
  std::optional<IntegerConv> conv_;
};

}  // namespace

void RegisterConvInteger(KernelRegistry& registry) { registry.Add(Op("ConvInteger").Make<ConvInteger>()); }

}  // namespace tessera::cpu
