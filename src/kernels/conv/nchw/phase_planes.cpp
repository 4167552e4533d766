#include "kernels/conv/nchw/phase_planes.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw/phase_planes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "base/rounding.h"
#include "kernels/vector/load_first-inl.h"

#ifndef TESSERA_PHASE_ROWS  // once, though this file is included per target
#define TESSERA_PHASE_ROWS
namespace tessera::cpu {
/// Rows of a phase: element i is that of the image's row at from + i * stride, 0 outside of it.
struct PhaseRows {
  const float* in;
  int64_t in_step;  // elements from row to row
  int64_t in_width, from, stride;
  int64_t rows, width;
};
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3

/// Lanes whose elements, from `at` on, are among `width`.
HWY_INLINE __mmask16 MaskOf(int64_t at, int64_t width) {
  const auto first = static_cast<uint32_t>(std::clamp<int64_t>(-at, 0, 16)),
             end = static_cast<uint32_t>(std::clamp<int64_t>(width - at, 0, 16));
  return static_cast<__mmask16>(((1u << end) - 1) & ~((1u << first) - 1));
}

/// load(row) for 16 elements of every row.
template <class Load>
HWY_INLINE void StoreColumn(const PhaseRows& rows, int64_t column, float* out, const Load& load) {
  const float* in = rows.in;
  if (rows.width - column >= 16) {
    for (int64_t r = 0; r < rows.rows; ++r, in += rows.in_step) _mm512_storeu_ps(out + r * rows.width + column, load(in));
    return;
  }
  const __mmask16 mask = MaskOf(column, rows.width);
  for (int64_t r = 0; r < rows.rows; ++r, in += rows.in_step)
    _mm512_mask_storeu_ps(out + r * rows.width + column, mask, load(in));
}

void CopyRows(const PhaseRows& rows, float* out) {
  for (int64_t column = 0; column < rows.width; column += 16) {
    const int64_t at = rows.from + column * rows.stride;
    if (rows.stride == 1) {
      const __mmask16 mask = MaskOf(at, rows.in_width);
      StoreColumn(rows, column, out, [&](const float* in) HWY_ATTR { return _mm512_maskz_loadu_ps(mask, in + at); });
    } else if (rows.stride == 2) {
      const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
      const __mmask16 low = MaskOf(at, rows.in_width), high = MaskOf(at + 16, rows.in_width);
      StoreColumn(rows, column, out, [&](const float* in) HWY_ATTR {
        return _mm512_permutex2var_ps(_mm512_maskz_loadu_ps(low, in + at), even, _mm512_maskz_loadu_ps(high, in + at + 16));
      });
    } else {
      const auto step = static_cast<int>(rows.stride);
      const __m512i indices = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                                 _mm512_set1_epi32(step));
      uint32_t bits = 0;
      for (int64_t i = 0; i < 16; ++i) {
        const int64_t x = at + i * rows.stride;
        bits |= x >= 0 && x < rows.in_width ? 1u << i : 0u;
      }
      const auto mask = static_cast<__mmask16>(bits);
      StoreColumn(rows, column, out, [&](const float* in) HWY_ATTR {
        return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, indices, in + at, sizeof(float));
      });
    }
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr bool kMasks = HWY_TARGET == HWY_AVX2;  // loads that read no more than they keep

/// Elements of a row a stride apart, all inside of it.
HWY_INLINE void CopyInside(const float* in, int64_t stride, int64_t count, float* out) {
  const D d;
  int64_t i = 0;
  if (stride == 1) {
    for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::LoadU(d, in + i), d, out + i);
    if (i > 0 && i < count) hn::StoreU(hn::LoadU(d, in + count - kLanes), d, out + count - kLanes), i = count;
  } else if (stride == 2 && count > kLanes) {
    V even, odd;
    for (; i + kLanes < count; i += kLanes) {  // reads up to the element before the next one
      hn::LoadInterleaved2(d, in + 2 * i, even, odd);
      hn::StoreU(even, d, out + i);
    }
    i = count - kLanes;  // the last ones once more, with what stands before the first of them
    hn::LoadInterleaved2(d, in + 2 * i - 1, even, odd);
    hn::StoreU(odd, d, out + i);
    return;
  }
  for (; i < count; ++i) out[i] = in[i * stride];
}

/// Zeros before `first` and from `end` on, and perhaps some between, where the image's elements come next.
HWY_INLINE void FillOutside(int64_t first, int64_t end, int64_t width, float* out) {
  const D d;
  if (width < kLanes) {
    for (int64_t i = 0; i < width; ++i) out[i] = 0;
    return;
  }
  for (int64_t i = 0; i < first; i += kLanes) hn::StoreU(hn::Zero(d), d, out + std::min(i, width - kLanes));
  for (int64_t i = end; i < width; i += kLanes) hn::StoreU(hn::Zero(d), d, out + std::min(i, width - kLanes));
}

/// Lanes whose elements, from `at` on, are among `width`.
HWY_INLINE hn::Mask<D> MaskOf(int64_t at, int64_t width) {
  const D d;
  const auto first = static_cast<size_t>(std::clamp<int64_t>(-at, 0, kLanes)),
             end = static_cast<size_t>(std::clamp<int64_t>(width - at, 0, kLanes));
  return hn::AndNot(hn::FirstN(d, first), hn::FirstN(d, end));
}

/// load(row) for every row, each of at most a vector: what is stored behind one is that of the next ones, which come later.
template <class Load>
HWY_INLINE void StoreRows(const PhaseRows& rows, float* out, const Load& load) {
  const D d;
  const float* in = rows.in + rows.from;
  for (int64_t left = rows.rows * rows.width; left > 0; left -= rows.width, in += rows.in_step, out += rows.width) {
    if (left >= kLanes) hn::StoreU(load(in), d, out);
    else StoreFirst(d, load(in), out, rows.width);
  }
}

void CopyNarrowRows(const PhaseRows& rows, float* out) {
  const D d;
  const auto low = MaskOf(rows.from, rows.in_width), high = MaskOf(rows.from + kLanes, rows.in_width);
  if (rows.stride == 1) {
    StoreRows(rows, out, [&](const float* in) HWY_ATTR { return hn::MaskedLoad(low, d, in); });
  } else {
    StoreRows(rows, out, [&](const float* in) HWY_ATTR {
      return hn::ConcatEven(d, hn::MaskedLoad(high, d, in + kLanes), hn::MaskedLoad(low, d, in));
    });
  }
}

void CopyRows(const PhaseRows& rows, float* out) {
  if (kMasks && rows.width <= kLanes && rows.stride <= 2 && rows.rows > 0) return CopyNarrowRows(rows, out);
  const int64_t first = std::clamp<int64_t>(CeilDiv(-rows.from, rows.stride), 0, rows.width),
                inside = rows.in_width - rows.from,
                end = std::clamp<int64_t>(inside <= 0 ? 0 : CeilDiv(inside, rows.stride), first, rows.width);
  const float* in = rows.in + rows.from + first * rows.stride;
  for (int64_t r = 0; r < rows.rows; ++r, in += rows.in_step, out += rows.width) {
    FillOutside(first, end, rows.width, out);
    CopyInside(in, rows.stride, end - first, out + first);
  }
}

#endif

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(CopyRows);

bool PhasePlanes::Fits(const Window& window) {
  if (window.rank() > kAxes || window.output.num_elements() == 0) return false;
  constexpr double kMostElements = 1 << 30;
  double elements = 1;
  for (size_t i = 0; i < window.rank(); ++i) {
    if (std::min(window.strides[i], window.extent(i)) > kMostPhases) return false;
    elements *= static_cast<double>(window.output[i]) + static_cast<double>((window.extent(i) - 1) / window.strides[i]);
  }
  return elements <= kMostElements;
}

PhasePlanes::PhasePlanes(const Window& window) : window_(window), in_place_(true), size_{}, phases_{}, inside_{} {
  for (size_t i = 0; i < kAxes; ++i) {
    const int64_t stride = window.strides[i];
    phases_[i] = std::min(stride, window.extent(i));
    size_[i] = CheckedAdd(window.output[i], (window.extent(i) - 1) / stride);
    in_place_ = in_place_ && stride == 1 && window.begin[i] == 0 && size_[i] == window.input[i];
    for (int64_t phase = 0; phase < phases_[i]; ++phase) {
      inside_[i][static_cast<size_t>(phase)] = InsideOfPhase(window.input[i], window.begin[i], stride, phase, size_[i]);
    }
  }
}

int64_t PhasePlanes::Together(int64_t channels, int64_t images) const {
  constexpr int64_t kNearBytes = 256 << 10;
  if (in_place_) return 1;
  const int64_t image = CheckedMul(CheckedMul(channels, planes()), plane()) * int64_t{sizeof(float)};
  return std::clamp<int64_t>(kNearBytes / std::max<int64_t>(image, 1), 1, images);
}

int64_t PhasePlanes::run() const {
  return (window_.output[0] - 1) * slice() + (window_.output[1] - 1) * row() + window_.output[2];
}

PhasePlanes::Tap PhasePlanes::tap(const std::array<int64_t, kAxes>& at) const {
  Tap tap{0, 0};
  for (size_t i = 0; i < kAxes; ++i) {
    const int64_t position = at[i] * window_.dilations[i];
    tap.plane = tap.plane * phases_[i] + position % window_.strides[i];
    tap.element = tap.element * size_[i] + position / window_.strides[i];
  }
  return tap;
}

void PhasePlanes::LayOut(const float* channel, int64_t plane_step, float* out) const {
  const Window& w = window_;
  for (int64_t z = 0; z < phases_[0]; ++z) {
    for (int64_t y = 0; y < phases_[1]; ++y) {
      const PhaseSpan &slices = inside_[0][static_cast<size_t>(z)], &rows = inside_[1][static_cast<size_t>(y)];
      for (int64_t x = 0; x < phases_[2]; ++x, out += plane_step) {
        std::fill_n(out, slices.first * slice(), 0.0f);
        std::fill_n(out + slices.end * slice(), (size_[0] - slices.end) * slice(), 0.0f);
        for (int64_t i = slices.first; i < slices.end; ++i) {
          float* to = out + i * slice();
          std::fill_n(to, rows.first * row(), 0.0f);
          std::fill_n(to + rows.end * row(), (size_[1] - rows.end) * row(), 0.0f);
          const int64_t from = slices.from + (i - slices.first) * w.strides[0];
          const PhaseRows from_image{channel + (from * w.input[1] + rows.from) * w.input[2],
                                     w.strides[1] * w.input[2],
                                     w.input[2],
                                     x - w.begin[2],
                                     w.strides[2],
                                     rows.end - rows.first,
                                     row()};
          HWY_DYNAMIC_DISPATCH(CopyRows)(from_image, to + rows.first * row());
        }
      }
    }
  }
}

}  // namespace tessera::cpu
#endif
