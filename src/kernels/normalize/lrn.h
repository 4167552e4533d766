#pragma once

// Micro-kernels of LRN.

#include <cstdint>

namespace tessera::cpu {

template <class T>
struct LrnKernels {
  /// window += enters^2 - leaves^2; either may be null.
  void (*slide)(double* window, const T* enters, const T* leaves, int64_t count);
  /// y = x / (bias + alpha * window)^beta
  void (*divide)(const T* x, const double* window, T* y, int64_t count, double alpha, double beta, double bias);
};

/// T: float, double.
template <class T>
const LrnKernels<T>& LrnKernelsOf();

}  // namespace tessera::cpu
