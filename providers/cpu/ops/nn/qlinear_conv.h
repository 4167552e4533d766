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

/// What sums are multiplied with to be codes, one for all or for each output channel.
inline std::span<const float> ConvScales(KernelContext& context, int64_t outputs) {
  const float x = ConvScalar(context.required_input(1), "x_scale"), y = ConvScalar(context.required_input(6), "y_scale");
  const Tensor& w = context.required_input(4);
  Require(w.num_elements() == 1 || w.num_elements() == outputs, "w_scale has {} values; 1 or {} are expected", w.num_elements(), outputs);
  const auto scales = context.scratch<float>(static_cast<size_t>(w.num_elements()));
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = x * w.data<float>()[i] / y;
  return scales;
}

/// The zero points make the weights those of int8: 0, or 128 of uint8.
inline bool AreSigned(const Tensor& weights, const Tensor* zero) {
  if (zero == nullptr) return weights.is(ElementType::kInt8);
  if (!zero->is(weights.type())) return false;
  const auto* codes = static_cast<const uint8_t*>(zero->raw());
  const uint8_t none = weights.is(ElementType::kInt8) ? 0 : 128;
  return std::all_of(codes, codes + zero->num_elements(), [none](uint8_t code) { return code == none; });
}

inline int32_t ConvZero(KernelContext& context, size_t input) {
  const auto zero = ReadZeroPoints(context, context.input(input));
  Require(zero.size() == 1, "the zero point in input {} has {} values, 1 is expected", input, zero.size());
  return zero[0];
}

}  // namespace tessera::cpu
