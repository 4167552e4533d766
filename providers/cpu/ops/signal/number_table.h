#pragma once

// What operators share that make tables of numbers of any type from a few scalars.

#include <limits>

#include "cpu/types.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

template <class T>
T FromDouble(double x) {
  if constexpr (std::is_integral_v<T>) {
    x = static_cast<float>(x);  // as the specification's function computes: what is a hair below a number counts as it
    // Out of range casts are undefined; NaN becomes 0.
    if (!(x > static_cast<double>(std::numeric_limits<T>::min()))) return x < 0 ? std::numeric_limits<T>::min() : T{0};
    if (x >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(x);
}

/// The attribute output_datatype, a type of numbers.
ElementType TableType(const KernelInfo& info);

}  // namespace tessera::cpu
