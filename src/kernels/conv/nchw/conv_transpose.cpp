// Rows of a transposed convolution's output.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw/conv_transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/conv/nchw/conv_transpose.h"
#include "kernels/conv/nchw/weave_rows-inl.h"
#include "kernels/elementwise/activate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <bool kWeighted, int N, class D, class T>
HWY_INLINE void SumVectors(D d, const T* columns, const T* weights, const TransposedTap* taps, int64_t count, T bias,
                           int64_t j, T* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> acc[N];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) acc[i] = hn::Set(d, bias);
  for (int64_t t = 0; t < count; ++t) {
    const T* from = columns + (taps[t].from + j);
    if constexpr (kWeighted) {
      const auto weight = hn::Set(d, weights[taps[t].weight]);
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
HWY_INLINE void SumInside(D d, const T* columns, const T* weights, const TransposedTap* taps, int64_t count, T bias,
                          int64_t begin, int64_t end, T* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (end - begin < lanes) {
    if constexpr (hn::MaxLanes(d) > 1) {
      SumInside<kWeighted>(hn::Half<D>(), columns, weights, taps, count, bias, begin, end, out);
    }
    return;
  }
  int64_t j = begin;
  for (; j + 4 * lanes <= end; j += 4 * lanes) SumVectors<kWeighted, 4>(d, columns, weights, taps, count, bias, j, out);
  for (; j + 2 * lanes <= end; j += 2 * lanes) SumVectors<kWeighted, 2>(d, columns, weights, taps, count, bias, j, out);
  for (; j + lanes <= end; j += lanes) SumVectors<kWeighted, 1>(d, columns, weights, taps, count, bias, j, out);
  if (j < end) SumVectors<kWeighted, 1>(d, columns, weights, taps, count, bias, end - lanes, out);
}

/// One of the planes.
template <class T>
struct Plane {
  Plane(const TransposedPlanes<T>& planes, int64_t i)
      : columns(planes.columns + i * planes.columns_step),
        weights(planes.weights == nullptr ? nullptr : planes.weights + i * planes.weights_step),
        bias(planes.bias == nullptr ? T{0} : planes.bias[i]) {}

  T weight(int64_t at) const { return weights == nullptr ? T{1} : weights[at]; }

  const T* columns;
  const T* weights;
  T bias;
};

/// Pixels [begin, end), `step` apart in `out`, one by one.
template <class T>
HWY_INLINE void SumEdge(const Plane<T>& plane, const PhaseTaps& phase, int64_t begin, int64_t end, int64_t step, T* out) {
  for (int64_t j = begin; j < end; ++j) {
    T sum = plane.bias;
    for (int64_t t = 0; t < phase.count; ++t) {
      const TransposedTap& tap = phase.taps[t];
      if (j >= tap.first && j < tap.last) sum += plane.weight(tap.weight) * plane.columns[tap.from + j];
    }
    out[j * step] = sum;
  }
}

template <bool kWeighted, class D, class T, class V = hn::Vec<D>>
HWY_INLINE V SumVector(D d, const T* columns, const T* weights, const TransposedTap* taps, int64_t count, V bias,
                       int64_t j) {
  V sum = bias;
  for (int64_t t = 0; t < count; ++t) {
    const V v = hn::LoadU(d, columns + (taps[t].from + j));
    sum = kWeighted ? hn::MulAdd(hn::Set(d, weights[taps[t].weight]), v, sum) : hn::Add(sum, v);
  }
  return sum;
}

/// Pixels [begin, end) of both phases of stride two, interleaved; false when they are fewer than the narrowest vector
/// has.
template <bool kWeighted, class D, class T>
HWY_INLINE bool WeaveInside(D d, const Plane<T>& plane, const PhaseTaps& even, const PhaseTaps& odd, int64_t begin,
                            int64_t end, T* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (end - begin < lanes) {
    if constexpr (sizeof(T) * hn::MaxLanes(d) > 16) {
      return WeaveInside<kWeighted>(hn::Half<D>(), plane, even, odd, begin, end, out);
    }
    return false;
  }
  const TransposedTap *const even_taps = even.taps, *const odd_taps = odd.taps;
  const int64_t even_count = even.count, odd_count = odd.count;
  const T *const columns = plane.columns, *const weights = plane.weights;  // vectors that are stored may be anything
  const auto start = hn::Set(d, plane.bias);
  const auto store = [=](int64_t j) HWY_ATTR {
    hn::StoreInterleaved2(SumVector<kWeighted>(d, columns, weights, even_taps, even_count, start, j),
                          SumVector<kWeighted>(d, columns, weights, odd_taps, odd_count, start, j), d, out + 2 * j);
  };
  int64_t j = begin;
  for (; j + lanes <= end; j += lanes) store(j);
  if (j < end) store(end - lanes);
  return true;
}

/// Finds the taps of one phase of an output row.
template <class T>
PhaseTaps FindTaps(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t row, int64_t phase,
                   TransposedTap* taps) {
  const int64_t size = TransposedPhaseSize(geometry);
  const int64_t pixels = (size - 1) * geometry.stride + phase < geometry.output_width ? size : size - 1;
  PhaseTaps found{taps, 0, pixels, 0, pixels};
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
        taps[found.count++] = {from, column.first, column.last, 0};
        continue;
      }
      for (int64_t c = 0; c < planes.channels; ++c) {
        taps[found.count++] = {from, column.first, column.last, position + c * planes.weight_step};
        from += planes.channel_step;
      }
    }
  }
  found.last = std::max(found.first, found.last);
  return found;
}

template <class T>
HWY_INLINE void SumPhase(const Plane<T>& plane, const PhaseTaps& phase, T* out) {
  const hn::ScalableTag<T> d;
  SumEdge(plane, phase, 0, phase.first, 1, out);
  if (plane.weights != nullptr) {
    SumInside<true>(d, plane.columns, plane.weights, phase.taps, phase.count, plane.bias, phase.first, phase.last, out);
  } else {
    SumInside<false>(d, plane.columns, plane.weights, phase.taps, phase.count, plane.bias, phase.first, phase.last, out);
  }
  SumEdge(plane, phase, phase.last, phase.pixels, 1, out);
}

/// A row of stride two, both phases at once.
template <class T>
HWY_INLINE void WeaveTwo(const Plane<T>& plane, const PhaseTaps& even, const PhaseTaps& odd, T* out) {
  const int64_t begin = std::max(even.first, odd.first), end = std::max(begin, std::min(even.last, odd.last));
  const hn::ScalableTag<T> d;
  const bool done = plane.weights != nullptr ? WeaveInside<true>(d, plane, even, odd, begin, end, out)
                                             : WeaveInside<false>(d, plane, even, odd, begin, end, out);
  const int64_t from = done ? end : begin;
  for (const auto* phase : {&even, &odd}) {
    T* to = out + (phase == &odd ? 1 : 0);
    SumEdge(plane, *phase, 0, std::min(begin, phase->pixels), 2, to);
    SumEdge(plane, *phase, std::min(from, phase->pixels), phase->pixels, 2, to);
  }
}

/// A contribution of its own for each pixel of a phase, and what it is multiplied with.
template <class T>
struct Scaled {
  const T* pixels;
  T weight;
};

/// out = even[0] + bias, odd[0] + bias, even[1] + bias, ...; false when there are fewer pixels than the narrowest vector
/// has.
template <class D, class T>
HWY_INLINE bool InterleaveTwo(D d, const Scaled<T>& even, const Scaled<T>& odd, T bias, int64_t pixels, T* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (pixels < lanes) {
    if constexpr (sizeof(T) * hn::MaxLanes(d) > 16) return InterleaveTwo(hn::Half<D>(), even, odd, bias, pixels, out);
    return false;
  }
  const auto add = hn::Set(d, bias), even_weight = hn::Set(d, even.weight), odd_weight = hn::Set(d, odd.weight);
  const auto store = [=](int64_t j) HWY_ATTR {
    hn::StoreInterleaved2(hn::MulAdd(hn::LoadU(d, even.pixels + j), even_weight, add),
                          hn::MulAdd(hn::LoadU(d, odd.pixels + j), odd_weight, add), d, out + 2 * j);
  };
  int64_t j = 0;
  for (; j + lanes <= pixels; j += lanes) store(j);
  if (j < pixels) store(pixels - lanes);
  return true;
}

/// Four phases of `size` pixels each, one after the other, to a row.
template <class T>
HWY_INLINE void InterleaveFour(const T* from, int64_t size, int64_t width, T* out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; 4 * (j + lanes) <= width; j += lanes) {
    hn::StoreInterleaved4(hn::LoadU(d, from + j), hn::LoadU(d, from + size + j), hn::LoadU(d, from + 2 * size + j),
                          hn::LoadU(d, from + 3 * size + j), d, out + 4 * j);
  }
  for (int64_t x = 4 * j; x < width; ++x) out[x] = from[x % 4 * size + x / 4];
}

/// The row of some planes that no tap reaches.
template <class T>
void FillRow(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t row, int64_t begin,
             int64_t end) {
  T* first = planes.out + row * geometry.output_width;
  for (int64_t i = begin; i < end; ++i)
    std::fill_n(first + i * planes.out_step, geometry.output_width, planes.bias == nullptr ? T{0} : planes.bias[i]);
}

/// The row of some planes, phase after phase: where windows are shorter than the stride, only some phases differ from the
/// bias.
template <class T>
void SpreadRow(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t row, int64_t begin,
               int64_t end) {
  const bool sparse = geometry.kernel_width < geometry.stride;
  if (sparse) FillRow(geometry, planes, row, begin, end);
  T* first = planes.out + row * geometry.output_width;
  for (int64_t phase = 0; phase < geometry.phases; ++phase) {
    const PhaseTaps taps = FindTaps(geometry, planes, row, phase, planes.taps);
    if (sparse && taps.count == 0) continue;
    for (int64_t i = begin; i < end; ++i) {
      SumPhase(Plane<T>(planes, i), taps, planes.buffer);
      T* out = first + i * planes.out_step + phase;
      for (int64_t j = 0; j < taps.pixels; ++j) out[j * geometry.stride] = planes.buffer[j];
    }
  }
}

/// Kernels of two with stride two, each contribution a pixel of its own.
template <class T>
bool IsPairs(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes) {
  if (geometry.stride != 2 || geometry.phases != 2 || geometry.kernel_width != 2) return false;
  if (planes.weights != nullptr && planes.channels != 1) return false;
  if (geometry.output_width != 2 * geometry.input_width || geometry.phase_starts[1] != 1) return false;
  return geometry.columns[0].shift == 0 && geometry.columns[1].shift == 0;
}

/// The row of all planes; false where it is no such row.
template <class T>
bool PairRows(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t row) {
  const int64_t m = geometry.row_starts[row];
  if (geometry.row_starts[row + 1] != m + 1) return false;
  const int64_t first = geometry.meetings[m].kernel_row * 2, from = geometry.meetings[m].input_row * geometry.input_width;
  const int64_t even = first + geometry.columns[0].kernel, odd = first + geometry.columns[1].kernel;
  for (int64_t i = 0; i < planes.count; ++i) {
    const Plane<T> plane(planes, i);
    const T* columns = plane.columns + from;
    T* out = planes.out + i * planes.out_step + row * geometry.output_width;
    if (!InterleaveTwo(hn::ScalableTag<T>(), Scaled<T>{columns + even * planes.kernel_step, plane.weight(even)},
                       Scaled<T>{columns + odd * planes.kernel_step, plane.weight(odd)}, plane.bias, geometry.input_width,
                       out)) {
      return false;
    }
  }
  return true;
}

/// A row with stride S, whose taps are found once for all planes; `behind`: elements behind it that are written later.
template <int S, class T>
void WeaveRowOf(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t row, int64_t behind) {
  PhaseTaps phases[S];
  TransposedTap* taps = planes.taps;
  for (int64_t phase = 0; phase < S; ++phase) {
    phases[phase] = FindTaps(geometry, planes, row, phase, taps);
    taps += phases[phase].count;
  }
  WeaveRow<S>(hn::ScalableTag<T>(), planes, phases, geometry.output_width, behind,
              planes.out + row * geometry.output_width);
}

/// False for strides that are not woven, and for doubles, which would double the code.
template <class T>
bool WeaveRowOf(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t row, int64_t behind) {
  if constexpr (kWeaves && std::is_same_v<T, float>) {
    if (geometry.phases != geometry.stride || geometry.output_width > INT32_MAX) return false;
    switch (geometry.stride) {
      case 2: return WeaveRowOf<2>(geometry, planes, row, behind), true;
      case 3: return WeaveRowOf<3>(geometry, planes, row, behind), true;
      case 4: return WeaveRowOf<4>(geometry, planes, row, behind), true;
      default: break;
    }
  }
  return false;
}

/// The row of all planes, without their activation; rows up to `end` are written later.
template <class T>
void SumRow(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t row, int64_t end, bool pairs) {
  const int64_t size = TransposedPhaseSize(geometry), lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  if (pairs && PairRows(geometry, planes, row)) return;
  if (geometry.row_starts[row] == geometry.row_starts[row + 1]) return FillRow(geometry, planes, row, 0, planes.count);
  if (WeaveRowOf(geometry, planes, row, (end - row - 1) * geometry.output_width)) return;
  T* first = planes.out + row * geometry.output_width;
  if (geometry.stride == 2 && geometry.phases == 2) {
    const auto even = FindTaps(geometry, planes, row, 0, planes.taps);
    const auto odd = FindTaps(geometry, planes, row, 1, planes.taps + even.count);
    for (int64_t i = 0; i < planes.count; ++i) WeaveTwo(Plane<T>(planes, i), even, odd, first + i * planes.out_step);
  } else if (geometry.stride == 1) {
    const auto taps = FindTaps(geometry, planes, row, 0, planes.taps);
    for (int64_t i = 0; i < planes.count; ++i) SumPhase(Plane<T>(planes, i), taps, first + i * planes.out_step);
  } else if (geometry.stride == 4 && geometry.phases == 4 &&
             geometry.output_width >= (geometry.kernel_width < 4 ? 16 : 4) * lanes) {
    for (int64_t i = 0; i < planes.count; ++i) {
      for (int64_t phase = 0; phase < 4; ++phase)
        SumPhase(Plane<T>(planes, i), FindTaps(geometry, planes, row, phase, planes.taps), planes.buffer + phase * size);
      InterleaveFour(planes.buffer, size, geometry.output_width, first + i * planes.out_step);
    }
  } else {
    constexpr int64_t kNear = 4096;  // elements of rows that stay in the first cache
    const int64_t together = std::max<int64_t>(kNear / geometry.output_width, 1);
    for (int64_t i = 0; i < planes.count; i += together)
      SpreadRow(geometry, planes, row, i, std::min(planes.count, i + together));
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
    SumRow(geometry, planes, row, end, pairs);
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
