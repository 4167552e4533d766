#pragma once

#include <optional>
#include <string>

#include "cpu/ops/nn/integer_conv.h"
#include "cpu/ops/nn/quantized_conv.h"
#include "cpu/ops/nn/small_quantized_conv.h"

namespace tessera::cpu {

/// QLinearConv and ConvInteger, by the algorithm that was chosen for their constants and what is known of their images.
class QuantizedConvKernel : public Kernel {
 public:
  QuantizedConvKernel(const KernelInfo& info, const ConvInputs& inputs)
      : inputs_(inputs), algorithm_(ChooseQuantizedConv(info, inputs)) {
    switch (algorithm_) {
      case ConvAlgorithm::kBatchedIm2col: small_.emplace(info, inputs); break;
      case ConvAlgorithm::kIm2col: fast_.emplace(info, inputs, false); break;
      case ConvAlgorithm::kDirect:
      case ConvAlgorithm::kDepthwise: fast_.emplace(info, inputs, true); break;
      default: general_.emplace(info, inputs.weights, inputs.w_zero);
    }
  }

  void Compute(KernelContext& context) final {
    if (small_) return Fast(context, *small_);
    if (fast_) return Fast(context, *fast_);
    const Tensor* weights = general_->has_weights() ? nullptr : &context.required_input(inputs_.weights);
    General(
        context, *general_,
        {&context.required_input(0), weights, context.input(inputs_.x_zero), context.input(inputs_.w_zero), Bias(context)});
  }

  std::string Implementation(KernelContext& /*context*/) override { return std::string(NameOf(algorithm_)); }

 protected:
  /// What none of the algorithms that pack weights computes.
  virtual void General(KernelContext& context, const IntegerConv& conv, const IntegerConv::Inputs& inputs) const = 0;

 private:
  const Tensor* Bias(KernelContext& context) const {
    return inputs_.bias == ConvInputs::kNone ? nullptr : context.input(inputs_.bias);
  }

  template <class Conv>
  void Fast(KernelContext& context, const Conv& conv) const {
    const Tensor& x = context.required_input(0);
    const Window window = conv.Fit(x.shape(), Bias(context));
    Shape shape{x.shape()[0], conv.outputs()};
    for (const int64_t dim : window.output) shape.Append(dim);
    Tensor* output = context.output(0, shape);
    if (output != nullptr && output->num_elements() > 0) conv.Run(context, window, *output);
  }

  const ConvInputs inputs_;
  ConvAlgorithm algorithm_;
  std::optional<SmallQuantizedConv> small_;
  std::optional<QuantizedConv> fast_;
  std::optional<IntegerConv> general_;
};

}  // namespace tessera::cpu
