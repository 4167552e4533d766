#pragma once

// Weights, scales and zero points among the inputs of QLinearConv, whatever the layout of its images.

#include <algorithm>
#include <string_view>

#include "ops/nn/integer_matmul.h"

namespace tessera::cpu {

inline float ConvScalar(const Tensor& tensor, std::string_view name) {
  Require(tensor.num_elements() == 1, "{} has {} values, 1 is expected", name, tensor.num_elements());
  return tensor.data<float>()[0];
}

/// What sums are multiplied with to be codes.
class ConvScale {
 public:
  ConvScale(const Tensor& x, const Tensor& w, const Tensor& y, int64_t outputs)
      : x_(ConvScalar(x, "x_scale")), y_(ConvScalar(y, "y_scale")), w_(w.values<float>()) {
    Require(w.num_elements() == 1 || w.num_elements() == outputs, "w_scale has {} values; 1 or {} are expected", w.num_elements(), outputs);
  }

  float of(int64_t channel) const { return x_ * w_[w_.size() == 1 ? 0 : static_cast<size_t>(channel)] / y_; }

 private:
  float x_, y_;
  std::span<const float> w_;
};

/// Whether the zero points of a QLinearConv's constant weights are constant, too.
inline bool HasConstantZeros(const KernelInfo& info, const Tensor& weights) {
  const Tensor* zeros = info.constant_input(5);
  return (zeros != nullptr || !info.has_input(5)) && ZerosFit(weights, zeros, weights.shape()[0]);
}

inline int32_t ConvZero(const Tensor* zero, std::string_view name) {
  if (zero == nullptr) return 0;
  Require(zero->num_elements() == 1, "{} has {} values, 1 is expected", name, zero->num_elements());
  return CodeOf(*zero, 0);
}

}  // namespace tessera::cpu
