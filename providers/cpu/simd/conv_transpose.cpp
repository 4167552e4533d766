// Rows of a transposed convolution's output.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/conv_transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "simd/conv_transpose.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <bool kWeighted, int N, class D, class T>
HWY_INLINE void SumVectors(D d, const T* columns, const TransposedTap<T>* taps, int64_t count, T bias, int64_t j, T* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[N];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) sums[i] = hn::Set(d, bias);
  for (int64_t t = 0; t < count; ++t) {
    const T* from = columns + (taps[t].from + j);
    if constexpr (kWeighted) {
      const auto weight = hn::Set(d, taps[t].weight);
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i) sums[i] = hn::MulAdd(weight, hn::LoadU(d, from + i * lanes), sums[i]);
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i) sums[i] = hn::Add(sums[i], hn::LoadU(d, from + i * lanes));
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) hn::StoreU(sums[i], d, out + j + i * lanes);
}

/// Pixels [begin, end) that every tap reaches; D narrows until a vector fits.
template <bool kWeighted, class D, class T>
HWY_INLINE void SumInside(D d, const T* columns, const TransposedTap<T>* taps, int64_t count, T bias, int64_t begin, int64_t end,
                          T* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (end - begin < lanes) {
    if constexpr (hn::MaxLanes(d) > 1) {
      SumInside<kWeighted>(hn::Half<D>(), columns, taps, count, bias, begin, end, out);
    }
    return;
  }
  int64_t j = begin;
  for (; j + 4 * lanes <= end; j += 4 * lanes) SumVectors<kWeighted, 4>(d, columns, taps, count, bias, j, out);
  for (; j + 2 * lanes <= end; j += 2 * lanes) SumVectors<kWeighted, 2>(d, columns, taps, count, bias, j, out);
  for (; j + lanes <= end; j += lanes) SumVectors<kWeighted, 1>(d, columns, taps, count, bias, j, out);
  if (j < end) SumVectors<kWeighted, 1>(d, columns, taps, count, bias, end - lanes, out);
}

template <class T>
HWY_INLINE void SumEdge(const T* columns, const TransposedTap<T>* taps, int64_t count, T bias, int64_t begin, int64_t end, T* out) {
  for (int64_t j = begin; j < end; ++j) {
    T sum = bias;
    for (int64_t t = 0; t < count; ++t) {
      if (j >= taps[t].first && j < taps[t].last) sum += taps[t].weight * columns[taps[t].from + j];
    }
    out[j] = sum;
  }
}

/// The taps of one phase of an output row.
template <class T>
int64_t FindTaps(const TransposedGeometry& geometry, const TransposedPlane<T>& plane, int64_t row, int64_t phase) {
  int64_t count = 0;
  for (int64_t m = geometry.row_starts[row]; m < geometry.row_starts[row + 1]; ++m) {
    const TransposedMeeting& meeting = geometry.meetings[m];
    for (int64_t k = geometry.phase_starts[phase]; k < geometry.phase_starts[phase + 1]; ++k) {
      const TransposedColumn& column = geometry.columns[k];
      if (column.first >= column.last) continue;
      const int64_t position = meeting.kernel_row * geometry.kernel_width + column.kernel;
      int64_t from = position * plane.kernel_step + meeting.input_row * geometry.input_width - column.shift;
      const T* weight = plane.weights == nullptr ? nullptr : plane.weights + position;
      for (int64_t c = 0; c < plane.channels; ++c) {
        plane.taps[count++] = {from, column.first, column.last, weight == nullptr ? T{1} : weight[c * plane.weight_step]};
        from += plane.channel_step;
      }
    }
  }
  return count;
}

template <class T>
void SumPhase(const TransposedPlane<T>& plane, int64_t taps, int64_t pixels, T* out) {
  int64_t first = 0, last = pixels;
  for (int64_t t = 0; t < taps; ++t) {
    first = std::max(first, plane.taps[t].first);
    last = std::min(last, plane.taps[t].last);
  }
  first = std::min(first, pixels);
  last = std::max(first, last);
  SumEdge(plane.columns, plane.taps, taps, plane.bias, 0, first, out);
  const hn::ScalableTag<T> d;
  if (plane.weights == nullptr) {
    SumInside<false>(d, plane.columns, plane.taps, taps, plane.bias, first, last, out);
  } else {
    SumInside<true>(d, plane.columns, plane.taps, taps, plane.bias, first, last, out);
  }
  SumEdge(plane.columns, plane.taps, taps, plane.bias, last, pixels, out);
}

/// out = even[0] + bias, odd[0] + bias, even[1] + bias, ...; false when there are fewer pixels than the narrowest vector has.
template <class D, class T>
HWY_INLINE bool InterleaveTwo(D d, const T* even, const T* odd, T bias, int64_t pixels, T* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (pixels < lanes) {
    if constexpr (sizeof(T) * hn::MaxLanes(d) > 16) return InterleaveTwo(hn::Half<D>(), even, odd, bias, pixels, out);
    return false;
  }
  const auto add = hn::Set(d, bias);
  const auto store = [=](int64_t j) HWY_ATTR {
    hn::StoreInterleaved2(hn::Add(hn::LoadU(d, even + j), add), hn::Add(hn::LoadU(d, odd + j), add), d, out + 2 * j);
  };
  int64_t j = 0;
  for (; j + lanes <= pixels; j += lanes) store(j);
  if (j < pixels) store(pixels - lanes);
  return true;
}

template <class T>
HWY_INLINE void Interleave(const TransposedGeometry& geometry, const T* from, int64_t size, T* out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = geometry.output_width;
  const int64_t stride = geometry.stride;
  int64_t j = 0;
  if (stride == 2 && geometry.phases == 2) {
    if (InterleaveTwo(d, from, from + size, T{0}, width / 2, out)) j = width / 2;
  } else if (stride == 4 && geometry.phases == 4) {
    for (; 4 * (j + lanes) <= width; j += lanes) {
      hn::StoreInterleaved4(hn::LoadU(d, from + j), hn::LoadU(d, from + size + j), hn::LoadU(d, from + 2 * size + j),
                            hn::LoadU(d, from + 3 * size + j), d, out + 4 * j);
    }
  }
  for (int64_t phase = 0; phase < geometry.phases; ++phase) {
    const T* pixels = from + phase * size;
    for (int64_t i = j, x = j * stride + phase; x < width; ++i, x += stride) out[x] = pixels[i];
  }
}

/// Kernels of two with stride two, each contribution a pixel of its own.
template <class T>
bool IsPairs(const TransposedGeometry& geometry, const TransposedPlane<T>& plane) {
  if (geometry.stride != 2 || geometry.phases != 2 || geometry.kernel_width != 2 || plane.weights != nullptr) return false;
  if (geometry.output_width != 2 * geometry.input_width || geometry.phase_starts[1] != 1) return false;
  return geometry.columns[0].shift == 0 && geometry.columns[1].shift == 0;
}

template <class T>
bool PairRow(const TransposedGeometry& geometry, const TransposedPlane<T>& plane, int64_t row, T* out) {
  const int64_t m = geometry.row_starts[row];
  if (geometry.row_starts[row + 1] != m + 1) return false;
  const T* from = plane.columns + geometry.meetings[m].kernel_row * 2 * plane.kernel_step + geometry.meetings[m].input_row * geometry.input_width;
  return InterleaveTwo(hn::ScalableTag<T>(), from + geometry.columns[0].kernel * plane.kernel_step,
                       from + geometry.columns[1].kernel * plane.kernel_step, plane.bias, geometry.input_width, out);
}

template <class T>
void Rows(const TransposedGeometry& geometry, const TransposedPlane<T>& plane, int64_t begin, int64_t end) {
  const int64_t size = TransposedPhaseSize(geometry);
  const bool pairs = IsPairs(geometry, plane);
  for (int64_t row = begin; row < end; ++row) {
    T* out = plane.out + row * geometry.output_width;
    if (pairs && PairRow(geometry, plane, row, out)) continue;
    for (int64_t phase = 0; phase < geometry.phases; ++phase) {
      const int64_t taps = FindTaps(geometry, plane, row, phase);
      const int64_t pixels = (geometry.output_width - phase + geometry.stride - 1) / geometry.stride;
      SumPhase(plane, taps, pixels, geometry.stride == 1 ? out : plane.buffer + phase * size);
    }
    if (geometry.stride != 1) Interleave(geometry, plane.buffer, size, out);
  }
}

}  // namespace

void RowsFloat(const TransposedGeometry& geometry, const TransposedPlane<float>& plane, int64_t begin, int64_t end) {
  Rows(geometry, plane, begin, end);
}
void RowsDouble(const TransposedGeometry& geometry, const TransposedPlane<double>& plane, int64_t begin, int64_t end) {
  Rows(geometry, plane, begin, end);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(RowsFloat);
HWY_EXPORT(RowsDouble);
template <>
void ComputeTransposedRows<float>(const TransposedGeometry& geometry, const TransposedPlane<float>& plane, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(RowsFloat)(geometry, plane, begin, end);
}
template <>
void ComputeTransposedRows<double>(const TransposedGeometry& geometry, const TransposedPlane<double>& plane, int64_t begin,
                                   int64_t end) {
  HWY_DYNAMIC_DISPATCH(RowsDouble)(geometry, plane, begin, end);
}
}  // namespace tessera::cpu
#endif
