#pragma once

// Normalization of one row that was just summed up and still lies in the cache.

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/cancellable_memory.h"
#include "base/check.h"
#include "cpu/engine/row_access.h"
#include "kernels/normalize/moments.h"
#include "kernels/normalize/normalize.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

inline constexpr double kNormalizeNs = 0.5;  // of an element, in memory that is touched for the first time

template <class C>
struct RowScale {
  const C* gamma = nullptr;
  const C* beta = nullptr;
};

struct RowMoments {
  double mean;
  double inverse;
};

/// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta; without kCenter the mean counts as 0. Nothing may overlap y.
template <class C, bool kCenter>
RowMoments NormalizeRow(const C* x, int64_t width, double epsilon, const RowScale<C>& scale, C* y) {
  const NormalizeKernels<C>& kernels = NormalizeKernelsOf<C>();
  Moments moments;
  InCancellablePieces(0, width, kNormalizeNs, [&](int64_t begin, int64_t end) {
    Moments piece{.count = static_cast<double>(end - begin)};
    if constexpr (kCenter) kernels.moments(x + begin, end - begin, &piece.mean, &piece.squares);
    else piece.squares = kernels.sum_squares(x + begin, end - begin);
    moments = Join(moments, piece);
  });
  const double inverse = 1 / std::sqrt(moments.squares / static_cast<double>(width) + epsilon);
  InCancellablePieces(0, width, kNormalizeNs, [&](int64_t begin, int64_t end) {
    kernels.standardize(x + begin, y + begin, end - begin, static_cast<C>(moments.mean), static_cast<C>(inverse),
                        scale.gamma == nullptr ? nullptr : scale.gamma + begin,
                        scale.beta == nullptr ? nullptr : scale.beta + begin);
  });
  return {moments.mean, inverse};
}

/// out = a + b (+ bias).
template <class C>
void SumRows(const C* a, const C* b, const C* bias, int64_t width, C* out) {
  InCancellablePieces(0, width, kNormalizeNs, [&](int64_t begin, int64_t end) {
    if (bias == nullptr) {
      for (int64_t i = begin; i < end; ++i) out[i] = a[i] + b[i];
    } else {
      for (int64_t i = begin; i < end; ++i) out[i] = a[i] + b[i] + bias[i];
    }
  });
}

/// Stores a row that lies in a buffer as elements [first, first + width) of a tensor.
template <class C>
void StoreRow(C* row, int64_t first, int64_t width, Tensor& tensor) {
  const RowWriter<C> writer(tensor);
  C* at = writer.At(first, row);  // the row itself where the tensor holds another type
  if (at != row) CopyCancellably(at, row, width);
  writer.Flush(first, width, row);
}

/// A one-dimensional parameter as C: in place, or converted.
template <class C>
const C* RowParameter(KernelContext& context, const Tensor& tensor, int64_t width, std::string_view name) {
  Require(tensor.shape().rank() == 1 && tensor.shape()[0] == width, "{} is {}; [{}] is expected", name, tensor.shape(),
          width);
  const RowReader<C> reader(tensor);
  return reader.Read(0, width, reader.direct() ? nullptr : context.scratch<C>(static_cast<size_t>(width)).data());
}

}  // namespace tessera::cpu
