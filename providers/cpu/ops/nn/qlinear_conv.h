#pragma once

// Weights, scales and zero points among the inputs of QLinearConv, whatever the layout of its images.

#include <algorithm>
#include <string_view>
#include <vector>

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

/// Whether the zero points of a QLinearConv's constant weights are constant, too: one, or one for each channel.
inline bool HasConstantZeros(const KernelInfo& info, const Tensor& weights) {
  const Tensor* zeros = info.constant_input(5);
  if (zeros == nullptr) return !info.has_input(5);
  return zeros->is(weights.type()) && (zeros->num_elements() == 1 || zeros->num_elements() == weights.shape()[0]);
}

/// The zero points of weights seen as int8, those of uint8 less 128, by output channel; none where all are 0. `zeros` may be null.
inline std::vector<int32_t> WeightZeros(const Tensor& weights, const Tensor* zeros) {
  std::vector<int32_t> points;
  const int32_t shift = weights.is(ElementType::kInt8) ? 0 : 128;
  for (int64_t i = 0; i < weights.shape()[0]; ++i) {
    points.push_back((zeros == nullptr ? 0 : CodeOf(*zeros, zeros->num_elements() == 1 ? 0 : i)) - shift);
  }
  const bool none = std::all_of(points.begin(), points.end(), [](int32_t point) { return point == 0; });
  return none ? std::vector<int32_t>() : points;
}

inline int32_t ConvZero(const Tensor* zero, std::string_view name) {
  if (zero == nullptr) return 0;
  Require(zero->num_elements() == 1, "{} has {} values, 1 is expected", name, zero->num_elements());
  return CodeOf(*zero, 0);
}

}  // namespace tessera::cpu
