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

/// The zero points make the weights those of int8: 0, or 128 of uint8.
inline bool AreSigned(const Tensor& weights, const Tensor* zero) {
  if (zero == nullptr) return weights.is(ElementType::kInt8);
  if (!zero->is(weights.type())) return false;
  const auto* codes = static_cast<const uint8_t*>(zero->raw());
  const uint8_t none = weights.is(ElementType::kInt8) ? 0 : 128;
  return std::all_of(codes, codes + zero->num_elements(), [none](uint8_t code) { return code == none; });
}

/// The zero point of an output channel's weights as int8, those of uint8 less 128. `zeros`: one, or one for each channel; may be null.
inline int32_t WeightZero(const Tensor& weights, const Tensor* zeros, int64_t channel) {
  const int32_t code = zeros == nullptr ? 0 : CodeOf(*zeros, zeros->num_elements() == 1 ? 0 : channel);
  return weights.is(ElementType::kInt8) ? code : code - 128;
}

inline int32_t ConvZero(const Tensor* zero, std::string_view name) {
  if (zero == nullptr) return 0;
  Require(zero->num_elements() == 1, "{} has {} values, 1 is expected", name, zero->num_elements());
  return CodeOf(*zero, 0);
}

}  // namespace tessera::cpu
