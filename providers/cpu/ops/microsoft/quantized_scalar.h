#pragma once

// The scale and zero point of a tensor that is quantized as a whole.

#include "base/check.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

struct QuantizedScalar {
  float scale;
  float zero;
};

/// Input `scale`, and the zero point (of 8 bits) in the input behind it, which may be left out.
inline QuantizedScalar ReadQuantizedScalar(KernelContext& context, size_t scale) {
  const Tensor& scales = context.required_input(scale);
  const Tensor* zeros = context.input(scale + 1);
  Require(scales.num_elements() == 1 && (zeros == nullptr || zeros->num_elements() == 1),
          "scale {} is {} and its zero point {}; scalars are expected", scale, scales.shape(), OptionalShape{zeros});
  QuantizedScalar result = {*scales.data<float>(), 0};
  if (zeros != nullptr)
    result.zero = zeros->is(ElementType::kInt8) ? static_cast<float>(*zeros->data<int8_t>())
                                                : static_cast<float>(*zeros->data<uint8_t>());
  return result;
}

}  // namespace tessera::cpu
