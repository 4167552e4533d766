#pragma once

// What com.microsoft's operators on quantized tensors share: a scale and a zero point for the whole of each.

#include <string>

#include "opencl/device/kernel.h"

namespace tessera::opencl {

inline constexpr TypeSet kInt8s = {ElementType::kInt8, ElementType::kUInt8};

/// Macros of quantized values Y, and their LOWEST and HIGHEST.
inline std::string QuantizedResult(ElementType type) {
  const bool is_signed = type == ElementType::kInt8;
  return Computed('Y', type) +
         fmt::format("#define LOWEST {}\n#define HIGHEST {}\n", is_signed ? -128 : 0, is_signed ? 127 : 255);
}

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
