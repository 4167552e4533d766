#pragma once

// Weights, scales and zero points among the inputs of QLinearConv and ConvInteger, whatever the layout of their images.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "cpu/ops/nn/integer_matmul.h"

namespace tessera::cpu {

/// The inputs of a quantized convolution beside the image, which is the first; kNone: its operator has no such input.
struct ConvInputs {
  static constexpr size_t kNone = SIZE_MAX;
  size_t weights, x_zero, w_zero;
  size_t x_scale = kNone, w_scale = kNone, y_scale = kNone, y_zero = kNone, bias = kNone;

  /// Results are accumulators, not quantized values.
  bool gives_accumulators() const { return y_scale == kNone; }
};

inline constexpr ConvInputs kQLinearConv{
    .weights = 3, .x_zero = 2, .w_zero = 5, .x_scale = 1, .w_scale = 4, .y_scale = 6, .y_zero = 7, .bias = 8};
inline constexpr ConvInputs kConvInteger{.weights = 1, .x_zero = 2, .w_zero = 3};

inline float ConvScalar(const Tensor& tensor, std::string_view name) {
  Require(tensor.num_elements() == 1, "{} has {} values, 1 is expected", name, tensor.num_elements());
  return tensor.data<float>()[0];
}

/// What accumulators are multiplied with to be requantized.
class ConvScale {
 public:
  ConvScale(const Tensor& x, const Tensor& w, const Tensor& y, int64_t outputs)
      : x_(ConvScalar(x, "x_scale")), y_(ConvScalar(y, "y_scale")), w_(w.values<float>()) {
    Require(w.num_elements() == 1 || w.num_elements() == outputs, "w_scale has {} values; 1 or {} are expected",
            w.num_elements(), outputs);
  }

  float of(int64_t channel) const { return x_ * w_[w_.size() == 1 ? 0 : static_cast<size_t>(channel)] / y_; }

 private:
  float x_, y_;
  std::span<const float> w_;
};

/// Whether the zero points of constant weights are constant, too.
inline bool HasConstantZeros(const KernelInfo& info, const Tensor& weights, const ConvInputs& inputs = kQLinearConv) {
  const Tensor* zeros = info.constant_input(inputs.w_zero);
  return (zeros != nullptr || !info.has_input(inputs.w_zero)) && ZerosFit(weights, zeros, weights.shape()[0]);
}

inline int32_t ConvZero(const Tensor* zero, std::string_view name) {
  if (zero == nullptr) return 0;
  Require(zero->num_elements() == 1, "{} has {} values, 1 is expected", name, zero->num_elements());
  return QuantizedOf(*zero, 0);
}

}  // namespace tessera::cpu
