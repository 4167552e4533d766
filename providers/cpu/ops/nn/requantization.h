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
    store.kind = y.is(ElementType::kInt32)  ? OutputStage::kSums
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
  struct Line {
    int64_t channel = -1;  // none: padding
    int32_t sum = 0;       // of the weights
    int32_t missing = 0;   // what the accumulator lacks beside the bias
  };

  /// Packed weights, which are those of output channels from `first` on.
  static void Append(const PackedWeightsS8& packed, int64_t first, std::vector<Line>& lines) {
    for (size_t i = 0; i < packed.sums.size(); ++i)
      lines.push_back({first + static_cast<int64_t>(i), packed.sums[i], packed.offsets[i]});
  }

  /// The terms of the weights' zero points, by channel, for k weights. Gives what the sum of x's values is multiplied
  /// with, by output channel; nothing where there are none.
  static std::vector<int32_t> TakeZeros(const std::vector<int32_t>& zeros, int64_t k, std::vector<Line>& lines) {
    std::vector<int32_t> added;
    for (size_t i = 0; !zeros.empty() && i < lines.size(); ++i) {
      const int32_t zero = lines[i].channel < 0 ? 0 : zeros[static_cast<size_t>(lines[i].channel)];
      lines[i].sum -= static_cast<int32_t>(k) * zero;
      added.push_back(-zero);
    }
    return added;
  }

  /// `x_shift`: what the kernel adds to x.
  Requantization(const KernelInfo& info, std::vector<Line> lines, int64_t outputs, int32_t x_shift,
                 const ConvInputs& places = kQLinearConv)
      : lines_(std::move(lines)), outputs_(outputs), x_shift_(x_shift), places_(places) {
    const auto constant = [&](size_t place) { return info.constant_input(place); };
    const Inputs in{constant(places.x_scale), constant(places.x_zero), constant(places.w_scale), constant(places.y_scale),
                    constant(places.bias)};
    const bool scaled = places.gives_sums() || (in.x_scale != nullptr && in.w_scale != nullptr && in.y_scale != nullptr);
    const bool known = in.x_zero != nullptr && scaled &&
                       (in.bias == nullptr ? !info.has_input(places.bias) : in.bias->num_elements() == outputs);
    if (!known) return;
    starts_.resize(lines_.size());
    scales_.resize(places.gives_sums() ? 0 : lines_.size());
    Fill(in, starts_, scales_);
    lines_ = {};
  }

  /// The bias has been checked.
  ConvCall Begin(KernelContext& context, const Window& window, Tensor& y) const {
    std::span<const int32_t> starts = starts_;
    std::span<const float> scales = scales_;
    if (starts_.empty()) {
      const auto new_starts = context.scratch<int32_t>(lines_.size());
      const auto new_scales = context.scratch<float>(places_.gives_sums() ? 0 : lines_.size());
      const auto scale = [&](size_t place) { return places_.gives_sums() ? nullptr : &context.required_input(place); };
      Fill({scale(places_.x_scale), context.input(places_.x_zero), scale(places_.w_scale), scale(places_.y_scale),
            context.input(places_.bias)},
           new_starts, new_scales);
      starts = new_starts;
      scales = new_scales;
    }
    const int32_t x_zero = ConvZero(context.input(places_.x_zero), "x_zero_point"),
                  y_zero = ConvZero(context.input(places_.y_zero), "y_zero_point");
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
    for (size_t i = 0; i < lines_.size(); ++i) {
      const auto& [channel, sum, missing] = lines_[i];
      // Accumulators wrap as in the definition.
      const uint32_t start = static_cast<uint32_t>(missing) - x_zero * static_cast<uint32_t>(sum);
      starts[i] = static_cast<int32_t>(start + (bias == nullptr || channel < 0 ? 0 : static_cast<uint32_t>(bias[channel])));
    }
    if (places_.gives_sums()) return;
    const ConvScale scale(*in.x_scale, *in.w_scale, *in.y_scale, outputs_);
    for (size_t i = 0; i < lines_.size(); ++i) scales[i] = lines_[i].channel < 0 ? 0 : scale.of(lines_[i].channel);
  }

  std::vector<Line> lines_;  // none where they are constant
  int64_t outputs_;
  int32_t x_shift_;
  ConvInputs places_;
  std::vector<int32_t> starts_;
  std::vector<float> scales_;
};

}  // namespace tessera::cpu
