#pragma once

// Inner loops of linear and cubic resampling.

#include <cstddef>
#include <cstdint>

#include "tessera/numeric.h"

namespace tessera::cpu {

template <class F>
using ResampleLoad = void (*)(const void* elements, F* numbers, int64_t n);
/// Integers are rounded half to even and saturated.
template <class F>
using ResampleStore = void (*)(const F* numbers, void* elements, int64_t n);

template <class F>
struct ResampleKernels {
  /// out[o, c] = sum over t of weights[o, t] * row[first[o] + t, c], for `n` positions of `inner` numbers.
  void (*resample_row)(const F* row, const int32_t* first, const F* weights, int64_t taps, int64_t n, int64_t inner,
                       F* out);
  /// out[i] = sum over t of weights[t] * rows[t][i].
  void (*blend)(const F* const* rows, const F* weights, int64_t taps, int64_t n, F* out);
};

/// F is float or double.
template <class F>
const ResampleKernels<F>& GetResampleKernels();

/// Writes each of `n` elements twice, to the same columns of each of `rows` rows that are 2 * n elements apart.
using RepeatTwice = void (*)(const void* elements, int64_t n, void* rows_of_pairs, int64_t rows);
/// `bytes`: of an element; null unless 1, 2, 4 or 8.
RepeatTwice FindRepeatTwice(size_t bytes);

/// F is float for bool and types of up to 16 bits, double for 32- and 64-bit integers.
template <class F, class T>
ResampleLoad<F> GetResampleLoad();
template <class F, class T>
ResampleStore<F> GetResampleStore();

}  // namespace tessera::cpu
