// Rows of a transposed convolution's output.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw/conv_transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv/nchw/conv_transpose.h"
#include "kernels/elementwise/activate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <bool kWeighted, int N, class D, class T>
HWY_INLINE void SumVectors(D d, const T* columns, const TransposedTap<T>* taps, int64_t count, T bias, int64_t j, T* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> acc[N];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) acc[i] = hn::Set(d, bias);
  for (int64_t t = 0; t < count; ++t) {
    const T* from = columns + (taps[t].from + j);
    if constexpr (kWeighted) {
      const auto weight = hn::Set(d, taps[t].weight);
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i) acc[i] = hn::MulAdd(weight, hn::LoadU(d, from + i * lanes), acc[i]);
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i) acc[i] = hn::Add(acc[i], hn::LoadU(d, from + i * lanes));
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) hn::StoreU(acc[i], d, out + j + i * lanes);
}

/// Pixels [begin, end), which every tap reaches; D narrows until a vector fits.
template <bool kWeighted, class D, class T>
HWY_INLINE void SumInside(D d, const T* columns, const TransposedTap<T>* taps, int64_t count, T bias, int64_t begin,
                          int64_t end, T* out) {
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

/// The taps of one phase of a row.
template <class T>
struct PhaseTaps {
  const TransposedTap<T>* taps;
  int64_t count;
  int64_t pixels;
  int64_t first;  // pixels that every tap reaches
  int64_t last;
};

/// Pixels [begin, end), `step` apart in `out`, one by one.
template <class T>
HWY_INLINE void SumEdge(const T* columns, const PhaseTaps<T>& phase, T bias, int64_t begin, int64_t end, int64_t step,
                        T* out) {
  for (int64_t j = begin; j < end; ++j) {
    T sum = bias;
    for (int64_t t = 0; t < phase.count; ++t) {
      const TransposedTap<T>& tap = phase.taps[t];
      if (j >= tap.first && j < tap.last) sum += tap.weight * columns[tap.from + j];
    }
    out[j * step] = sum;
  }
}

template <bool kWeighted, class D, class T, class V = hn::Vec<D>>
HWY_INLINE V SumVector(D d, const T* columns, const TransposedTap<T>* taps, int64_t count, V bias, int64_t j) {
  V sum = bias;
  for (int64_t t = 0; t < count; ++t) {
    const V v = hn::LoadU(d, columns + (taps[t].from + j));
    sum = kWeighted ? hn::MulAdd(hn::Set(d, taps[t].weight), v, sum) : hn::Add(sum, v);
  }
  return sum;
}

/// Pixels [begin, end) of both phases of stride two, interleaved; false when they are fewer than the narrowest vector
/// has.
template <bool kWeighted, class D, class T>
HWY_INLINE bool WeaveInside(D d, const T* columns, const PhaseTaps<T>& even, const PhaseTaps<T>& odd, T bias, int64_t begin,
                            int64_t end, T* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (end - begin < lanes) {
    if constexpr (sizeof(T) * hn::MaxLanes(d) > 16) {
      return WeaveInside<kWeighted>(hn::Half<D>(), columns, even, odd, bias, begin, end, out);
    }
    return false;
  }
  const TransposedTap<T>*const even_taps = even.taps, *const odd_taps = odd.taps;
  const int64_t even_count = even.count, odd_count = odd.count;
  const auto start = hn::Set(d, bias);
  const auto store = [=](int64_t j) HWY_ATTR {
    hn::StoreInterleaved2(SumVector<kWeighted>(d, columns, even_taps, even_count, start, j),
                          SumVector<kWeighted>(d, columns, odd_taps, odd_count, start, j), d, out + 2 * j);
  };
  int64_t j = begin;
  for (; j + lanes <= end; j += lanes) store(j);
  if (j < end) store(end - lanes);
  return true;
}

/// Finds the taps of one phase of an output row.
template <class T>
PhaseTaps<T> FindTaps(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t row, int64_t phase,
                      TransposedTap<T>* taps) {
  const int64_t size = TransposedPhaseSize(geometry);
  const int64_t pixels = (size - 1) * geometry.stride + phase < geometry.output_width ? size : size - 1;
  PhaseTaps<T> found{taps, 0, pixels, 0, pixels};
  const int64_t end = geometry.row_starts[row + 1];
  for (int64_t m = geometry.row_starts[row]; m < end; ++m) {
    const TransposedMeeting& meeting = geometry.meetings[m];
    for (int64_t k = geometry.phase_starts[phase]; k < geometry.phase_starts[phase + 1]; ++k) {
      const TransposedColumn& column = geometry.columns[k];
      if (column.first >= column.last) continue;
      found.first = std::max(found.first, column.first);
      found.last = std::min(found.last, column.last);
      const int64_t position = meeting.kernel_row * geometry.kernel_width + column.kernel;
      int64_t from = position * planes.kernel_step + meeting.input_row * geometry.input_width - column.shift;
      if (planes.weights == nullptr) {
        taps[found.count++] = {from, column.first, column.last, T{1}};
        continue;
      }
      const T* weight = planes.weights + position;
      for (int64_t c = 0; c < planes.channels; ++c) {
        taps[found.count++] = {from, column.first, column.last, weight[c * planes.weight_step]};
        from += planes.channel_step;
      }
    }
  }
  found.last = std::max(found.first, found.last);
  return found;
}

/// One of the planes.
template <class T>
struct Plane {
  Plane(const TransposedPlanes<T>& planes, int64_t i)
      : columns(planes.columns + i * planes.columns_step),
        bias(planes.bias == nullptr ? T{0} : planes.bias[i]),
        weighted(planes.weights != nullptr) {}

  const T* columns;
  T bias;
  bool weighted;
};

template <class T>
HWY_INLINE void SumPhase(const Plane<T>& plane, const PhaseTaps<T>& phase, T* out) {
  const hn::ScalableTag<T> d;
  SumEdge(plane.columns, phase, plane.bias, 0, phase.first, 1, out);
  if (plane.weighted) {
    SumInside<true>(d, plane.columns, phase.taps, phase.count, plane.bias, phase.first, phase.last, out);
  } else {
    SumInside<false>(d, plane.columns, phase.taps, phase.count, plane.bias, phase.first, phase.last, out);
  }
  SumEdge(plane.columns, phase, plane.bias, phase.last, phase.pixels, 1, out);
}

/// A row of stride two, both phases at once.
template <class T>
HWY_INLINE void WeaveRow(const Plane<T>& plane, const PhaseTaps<T>& even, const PhaseTaps<T>& odd, T* out) {
  const int64_t begin = std::max(even.first, odd.first), end = std::max(begin, std::min(even.last, odd.last));
  const hn::ScalableTag<T> d;
  const bool done = plane.weighted ? WeaveInside<true>(d, plane.columns, even, odd, plane.bias, begin, end, out)
                                   : WeaveInside<false>(d, plane.columns, even, odd, plane.bias, begin, end, out);
  const int64_t from = done ? end : begin;
  for (const auto* phase : {&even, &odd}) {
    T* to = out + (phase == &odd ? 1 : 0);
    SumEdge(plane.columns, *phase, plane.bias, 0, std::min(begin, phase->pixels), 2, to);
    SumEdge(plane.columns, *phase, plane.bias, std::min(from, phase->pixels), phase->pixels, 2, to);
  }
}

/// out = even[0] + bias, odd[0] + bias, even[1] + bias, ...; false when there are fewer pixels than the narrowest vector
/// has.
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
  if (stride == 4 && geometry.phases == 4) {
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
bool IsPairs(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes) {
  if (geometry.stride != 2 || geometry.phases != 2 || geometry.kernel_width != 2 || planes.weights != nullptr) return false;
  if (geometry.output_width != 2 * geometry.input_width || geometry.phase_starts[1] != 1) return false;
  return geometry.columns[0].shift == 0 && geometry.columns[1].shift == 0;
}

/// The row of all planes; false where it is no such row.
template <class T>
bool PairRows(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t row) {
  const int64_t m = geometry.row_starts[row];
  if (geometry.row_starts[row + 1] != m + 1) return false;
  const int64_t at =
      geometry.meetings[m].kernel_row * 2 * planes.kernel_step + geometry.meetings[m].input_row * geometry.input_width;
  for (int64_t i = 0; i < planes.count; ++i) {
    const Plane<T> plane(planes, i);
    T* out = planes.out + i * planes.out_step + row * geometry.output_width;
    if (!InterleaveTwo(hn::ScalableTag<T>(), plane.columns + at + geometry.columns[0].kernel * planes.kernel_step,
                       plane.columns + at + geometry.columns[1].kernel * planes.kernel_step, plane.bias,
                       geometry.input_width, out)) {
      return false;
    }
  }
  return true;
}

/// The row of all planes, without their activation.
template <class T>
void SumRow(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t row, bool pairs) {
  const int64_t size = TransposedPhaseSize(geometry);
  if (pairs && PairRows(geometry, planes, row)) return;
  T* first = planes.out + row * geometry.output_width;
  if (geometry.stride == 2 && geometry.phases == 2) {
    const auto even = FindTaps(geometry, planes, row, 0, planes.taps);
    const auto odd = FindTaps(geometry, planes, row, 1, planes.taps + even.count);
    for (int64_t i = 0; i < planes.count; ++i) WeaveRow(Plane<T>(planes, i), even, odd, first + i * planes.out_step);
  } else if (geometry.stride == 1) {
    const auto taps = FindTaps(geometry, planes, row, 0, planes.taps);
    for (int64_t i = 0; i < planes.count; ++i) SumPhase(Plane<T>(planes, i), taps, first + i * planes.out_step);
  } else {
    for (int64_t i = 0; i < planes.count; ++i) {
      for (int64_t phase = 0; phase < geometry.phases; ++phase) {
        SumPhase(Plane<T>(planes, i), FindTaps(geometry, planes, row, phase, planes.taps), planes.buffer + phase * size);
      }
      Interleave(geometry, planes.buffer, size, first + i * planes.out_step);
    }
  }
}

template <class T>
void ActivateRow(const Activation<T>& activation, int64_t count, T* row) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(Activate(d, hn::LoadU(d, row + i), activation), d, row + i);
  const hn::CappedTag<T, 1> one;
  for (; i < count; ++i) hn::StoreU(Activate(one, hn::LoadU(one, row + i), activation), one, row + i);
}

template <class T>
void Rows(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t begin, int64_t end) {
  const bool pairs = IsPairs(geometry, planes);
  for (int64_t row = begin; row < end; ++row) {
    SumRow(geometry, planes, row, pairs);
    T* first = planes.out + row * geometry.output_width;
    for (int64_t i = 0; i < planes.count && planes.activation; ++i)
      ActivateRow(planes.activation, geometry.output_width, first + i * planes.out_step);
  }
}

}  // namespace

void RowsFloat(const TransposedGeometry& geometry, const TransposedPlanes<float>& planes, int64_t begin, int64_t end) {
  Rows(geometry, planes, begin, end);
}
void RowsDouble(const TransposedGeometry& geometry, const TransposedPlanes<double>& planes, int64_t begin, int64_t end) {
  Rows(geometry, planes, begin, end);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(RowsFloat);
HWY_EXPORT(RowsDouble);
template <>
void ComputeTransposedRows<float>(const TransposedGeometry& geometry, const TransposedPlanes<float>& planes, int64_t begin,
                                  int64_t end) {
  HWY_DYNAMIC_DISPATCH(RowsFloat)(geometry, planes, begin, end);
}
template <>
void ComputeTransposedRows<double>(const TransposedGeometry& geometry, const TransposedPlanes<double>& planes,
                                   int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(RowsDouble)(geometry, planes, begin, end);
}
}  // namespace tessera::cpu
#endif
