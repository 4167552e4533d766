#pragma once

// Micro-kernels of ArgMax, ArgMin and Hardmax. A NaN is more extreme than any number, as in NumPy.

#include <cstdint>

namespace tessera::cpu {

template <class T>
struct ArgKernels {
  /// Index of the extreme of `count` >= 1 contiguous elements.
  int64_t (*row)(const T* x, int64_t count, bool last);
  /// The same for `columns` <= kArgColumns adjacent columns whose elements are `stride` apart; count < 2^31.
  void (*columns)(const T* x, int64_t count, int64_t stride, int64_t columns, bool last, int64_t* index);
};

inline constexpr int64_t kArgColumns = 256;

/// T: float, double and the integers.
template <class T>
const ArgKernels<T>& ArgKernelsOf(bool minimum);

}  // namespace tessera::cpu
