#pragma once

// The output stage of a quantized convolution, to quantized values or accumulators, by output channel in the order of its
// kernel.

#include <vector>

#include "cpu/ops/nn/qlinear_conv.h"
#include "kernels/gemm/gemm_u8s8.h"
#include "ops/nn/window.h"

namespace tessera::cpu {

/// One run of a quantized convolution. Parameters are in the kernel's order.
struct ConvCall {
  const Tensor& x;
  const Window& window;
  std::span<const int32_t> starts;  // initial accumulators: bias and the terms of zero points
  std::span<const float> scales;    // none where results are accumulators
  int32_t x_zero, y_zero;
  Tensor& y;

  /// The output of channels of `row` pixels.
  OutputStage Store(int64_t row) const {
    OutputStage store;
    store.kind = y.is(ElementType::kInt32)  ? OutputStage::kAccumulators
                 : y.is(ElementType::kInt8) ? OutputStage::kInt8
                                            : OutputStage::kUInt8;
    store.data = y.mutable_raw();
    store.row = row;
    store.add = starts.data();
    store.scales = scales.data();
    store.zero = y_zero;
    return store;
  }
};

/// Computed once where all inputs that they depend on are constant.
class Requantization {
 public:
  /// An index in the kernel's order.
  struct Channel {
    int64_t channel = -1;  // none: padding
    int32_t sum = 0;       // of the weights
    int32_t missing = 0;   // what the accumulator lacks beside the bias
  };

  /// Packed weights, which are those of output channels from `first` on.
  static void Append(const PackedWeightsS8& packed, int64_t first, std::vector<Channel>& packed_channels) {
    for (size_t i = 0; i < packed.sums.size(); ++i)
      packed_channels.push_back({first + static_cast<int64_t>(i), packed.sums[i], packed.offsets[i]});
  }

  /// The terms of the weights' zero points, by channel, for k weights. Gives what the sum of x's values is multiplied
  /// with, by output channel; nothing where there are none.
  static std::vector<int32_t> SubtractZeroPoints(const std::vector<int32_t>& zeros, int64_t k,
                                                 std::vector<Channel>& packed_channels) {
    std::vector<int32_t> added;
    for (size_t i = 0; !zeros.empty() && i < packed_channels.size(); ++i) {
      const int32_t zero = packed_channels[i].channel < 0 ? 0 : zeros[static_cast<size_t>(packed_channels[i].channel)];
      packed_channels[i].sum -= static_cast<int32_t>(k) * zero;
      added.push_back(-zero);
    }
    return added;
  }

  /// `x_shift`: what the kernel adds to x.
  Requantization(const KernelInfo& info, std::vector<Channel> packed_channels, int64_t outputs, int32_t x_shift,
                 const ConvInputs& inputs = kQLinearConv)
      : channels_(std::move(packed_channels)), outputs_(outputs), x_shift_(x_shift), inputs_(inputs) {
    const auto constant = [&](size_t index) { return info.constant_input(index); };
    const Inputs in{constant(inputs.x_scale), constant(inputs.x_zero), constant(inputs.w_scale), constant(inputs.y_scale),
                    constant(inputs.bias)};
    const bool scaled =
        inputs.gives_accumulators() || (in.x_scale != nullptr && in.w_scale != nullptr && in.y_scale != nullptr);
    const bool known = in.x_zero != nullptr && scaled &&
                       (in.bias == nullptr ? !info.has_input(inputs.bias) : in.bias->num_elements() == outputs);
    if (!known) return;
    starts_.resize(channels_.size());
    scales_.resize(inputs.gives_accumulators() ? 0 : channels_.size());
    Fill(in, starts_, scales_);
    channels_ = {};
  }

  /// The bias has been checked.
  ConvCall Begin(KernelContext& context, const Window& window, Tensor& y) const {
    std::span<const int32_t> starts = starts_;
    std::span<const float> scales = scales_;
    if (starts_.empty()) {
      const auto new_starts = context.scratch<int32_t>(channels_.size());
      const auto new_scales = context.scratch<float>(inputs_.gives_accumulators() ? 0 : channels_.size());
      const auto scale = [&](size_t index) {
        return inputs_.gives_accumulators() ? nullptr : &context.required_input(index);
      };
      Fill({scale(inputs_.x_scale), context.input(inputs_.x_zero), scale(inputs_.w_scale), scale(inputs_.y_scale),
            context.input(inputs_.bias)},
           new_starts, new_scales);
      starts = new_starts;
      scales = new_scales;
    }
    const int32_t x_zero = ConvZero(context.input(inputs_.x_zero), "x_zero_point"),
                  y_zero = ConvZero(context.input(inputs_.y_zero), "y_zero_point");
    return {context.required_input(0), window, starts, scales, x_zero, y_zero, y};
  }

 private:
  struct Inputs {
    const Tensor* x_scale;
    const Tensor* x_zero;
    const Tensor* w_scale;
    const Tensor* y_scale;
    const Tensor* bias;
  };

  void Fill(const Inputs& in, std::span<int32_t> starts, std::span<float> scales) const {
    const auto x_zero = static_cast<uint32_t>(ConvZero(in.x_zero, "x_zero_point") + x_shift_);
    const int32_t* bias = in.bias == nullptr ? nullptr : in.bias->data<int32_t>();
    for (size_t i = 0; i < channels_.size(); ++i) {
      const auto& [channel, sum, missing] = channels_[i];
      // Accumulators wrap as in the definition.
      const uint32_t start = static_cast<uint32_t>(missing) - x_zero * static_cast<uint32_t>(sum);
      starts[i] = static_cast<int32_t>(start + (bias == nullptr || channel < 0 ? 0 : static_cast<uint32_t>(bias[channel])));
    }
    if (inputs_.gives_accumulators()) return;
    const ConvScale scale(*in.x_scale, *in.w_scale, *in.y_scale, outputs_);
    for (size_t i = 0; i < channels_.size(); ++i) scales[i] = channels_[i].channel < 0 ? 0 : scale.of(channels_[i].channel);
  }

  std::vector<Channel> channels_;  // none where they are constant
  int64_t outputs_;
  int32_t x_shift_;
  ConvInputs inputs_;
  std::vector<int32_t> starts_;
  std::vector<float> scales_;
};

}  // namespace tessera::cpu
