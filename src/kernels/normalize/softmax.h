#pragma once

// Micro-kernels of Softmax and LogSoftmax.

#include <cstdint>

namespace tessera::cpu {

template <class T>
struct SoftmaxKernels {
  /// Each of `rows` rows of `count` elements, one after the other. y may be x.
  void (*rows)(const T* x, T* y, int64_t rows, int64_t count, bool log);
  /// `columns` <= kSoftmaxColumns adjacent columns, each of `count` elements that are `stride` apart. y may be x.
  void (*columns)(const T* x, T* y, int64_t count, int64_t stride, int64_t columns, bool log);
};

inline constexpr int64_t kSoftmaxColumns = 256;

const SoftmaxKernels<float>& SoftmaxKernelsF32();
const SoftmaxKernels<double>& SoftmaxKernelsF64();

}  // namespace tessera::cpu
