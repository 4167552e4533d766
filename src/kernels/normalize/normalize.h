#pragma once

// Micro-kernels of the normalizations.

#include <cstdint>

namespace tessera::cpu {

template <class T>
struct NormalizeKernels {
  /// Mean, and sum of squared differences from it.
  void (*moments)(const T* x, int64_t count, double* mean, double* squares);
  double (*sum_squares)(const T* x, int64_t count);
  /// y = (x - mean) * a + b: exact where x is close to a large mean.
  void (*affine)(const T* x, T* y, int64_t count, T mean, T a, T b);
  /// y[j] = (x[j] - mean[j]) * a[j] + b[j]
  void (*affine_each)(const T* x, T* y, int64_t count, const T* mean, const T* a, const T* b);
  /// y[j] = (x[j] - mean) * inverse * scale[j] + bias[j]; scale and bias may be null.
  void (*standardize)(const T* x, T* y, int64_t count, T mean, T inverse, const T* scale, const T* bias);
  /// The same for `rows` rows of `count` >= 1 elements that follow each other, with the moments of each; without `center`
  /// the mean counts as 0. What follows the accumulators is done for several rows at once: in short rows it is slower than
  /// they are.
  void (*standardize_rows)(const T* x, T* y, int64_t rows, int64_t count, bool center, double epsilon, const T* scale,
                           const T* bias);
  // Planes of `count` >= 1 elements that follow each other, by coefficients of each.
  /// y = (x - mean[r]) * a[r] + b[r] of plane r.
  void (*affine_planes)(const T* x, T* y, int64_t planes, int64_t count, const T* mean, const T* a, const T* b);
  /// y = (x - mean of plane r) / sqrt(variance of plane r + epsilon) * scale[r] + bias[r].
  void (*standardize_planes)(const T* x, T* y, int64_t planes, int64_t count, double epsilon, const T* scale,
                             const T* bias);
};

/// T: float, double.
template <class T>
const NormalizeKernels<T>& NormalizeKernelsOf();

}  // namespace tessera::cpu
