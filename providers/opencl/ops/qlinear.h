#pragma once

// What com.microsoft's operators on quantized tensors share: a scale and a zero point for the whole of each.

#include "opencl/gemm/quantized_operands.h"

namespace tessera::opencl {

/// Input `scale` and the zero point, which may be missing, behind it.
struct QuantizedScalar {
  QuantizedScalar(const KernelContext& context, size_t position)
      : scale(context.input(position)), zero(context.input(position + 1)) {
    Require(scale != nullptr && scale->num_elements() == 1 && (zero == nullptr || zero->num_elements() == 1),
            "scale {} is {} and its zero point {}; scalars are expected", position, OptionalShape{scale},
            OptionalShape{zero});
  }

  const Tensor* scale;
  const Tensor* zero;
};

}  // namespace tessera::opencl
