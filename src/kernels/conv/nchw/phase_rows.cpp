#include "kernels/conv/nchw/phase_rows.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw/phase_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include <algorithm>

#include "base/rounding.h"
#include "kernels/vector/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
static_assert(kLanes <= kPhaseRowsSlack);
constexpr bool kMasks = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;  // loads that read no more than they keep

/// Padding.
HWY_INLINE void FillRun(const PhaseRows& rows, int64_t count, float* out) {
  const D d;
  if (rows.out_step != rows.width) return StoreZeros(d, 0, count * rows.out_step, out);
  for (int64_t phase = 0; phase < rows.phases; ++phase) StoreZeros(d, 0, count * rows.width, out + phase * rows.out_phase);
}

/// Calls copy(in, rows, out) for all runs that are not padding.
template <class Copy>
HWY_INLINE void ForEachRun(const PhaseRows& rows, std::span<const PhaseRun> runs, const PhaseImages& images,
                           const Copy& copy) {
  // Channels of small images are read in an order that prefetchers do not expect.
  constexpr int64_t kMostAhead = 1024, kLine = 64 / sizeof(float);
  const int64_t ahead = std::min(images.in_channel, kMostAhead);
  for (int64_t image = 0; image < images.images; ++image) {
    const float* in = images.in + image * images.in_image;
    float* out = images.out + image * images.out_image;
    for (int64_t channel = 0; channel < images.channels; ++channel, in += images.in_channel, out += images.out_channel) {
      for (int64_t i = 0; i < ahead; i += kLine) hwy::Prefetch(in + ahead + i);
      for (const PhaseRun& run : runs) {
        if (run.in == PhaseRun::kPadding) FillRun(rows, run.rows, out + run.out);
        else copy(in + run.in, run.rows, out + run.out);
      }
    }
  }
}

/// Lanes whose elements, from `at` on, are among `width`.
[[maybe_unused]] HWY_INLINE hn::Mask<D> MaskOf(int64_t at, int64_t width) {
  const D d;
  const auto first = static_cast<size_t>(std::clamp<int64_t>(-at, 0, kLanes)),
             end = static_cast<size_t>(std::clamp<int64_t>(width - at, 0, kLanes));
  return hn::AndNot(hn::FirstN(d, first), hn::FirstN(d, end));
}

/// A vector of each phase of a row, and the S vectors of the image that it is picked from.
template <int S>
struct Column {
  int64_t from, to;
  hn::Mask<D> masks[S];
};

/// Of S vectors the elements that are S apart, from each of the first P.
template <int S, int P>
HWY_INLINE void StorePhases(const V* v, int64_t step, float* out) {
  const D d;
  if constexpr (S == 1) {
    hn::StoreU(v[0], d, out);
  } else if constexpr (S == 2) {
    hn::StoreU(hn::ConcatEven(d, v[1], v[0]), d, out);
    if constexpr (P > 1) hn::StoreU(hn::ConcatOdd(d, v[1], v[0]), d, out + step);
  } else {
    static_assert(S == 4);
    const V even0 = hn::ConcatEven(d, v[1], v[0]), even1 = hn::ConcatEven(d, v[3], v[2]);
    hn::StoreU(hn::ConcatEven(d, even1, even0), d, out);
    if constexpr (P > 1) {
      const V odd0 = hn::ConcatOdd(d, v[1], v[0]), odd1 = hn::ConcatOdd(d, v[3], v[2]);
      hn::StoreU(hn::ConcatEven(d, odd1, odd0), d, out + step);
      if constexpr (P > 2) hn::StoreU(hn::ConcatOdd(d, even1, even0), d, out + 2 * step);
      if constexpr (P > 3) hn::StoreU(hn::ConcatOdd(d, odd1, odd0), d, out + 3 * step);
    }
  }
}

/// Some columns of rows, whose masks stay in registers.
template <int S, int P, int N>
class Columns {
 public:
  HWY_INLINE Columns(const PhaseRows& rows, const Column<S>* columns)
      : in_step_(rows.in_step), out_step_(rows.out_step), phase_(rows.out_phase) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      from_[j] = columns[j].from;
      to_[j] = columns[j].to;
#pragma GCC unroll 4
      for (int k = 0; k < S; ++k) masks_[j][k] = columns[j].masks[k];
    }
  }

  HWY_INLINE void Copy(const float* in, int64_t rows, float* out) const {
    const D d;
    for (; rows > 0; --rows, in += in_step_, out += out_step_) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) {
        V v[S];
#pragma GCC unroll 4
        for (int k = 0; k < S; ++k) v[k] = hn::MaskedLoad(masks_[j][k], d, in + from_[j] + k * kLanes);
        StorePhases<S, P>(v, phase_, out + to_[j]);
      }
    }
  }

 private:
  int64_t in_step_, out_step_, phase_, from_[N], to_[N];
  hn::Mask<D> masks_[N][S];
};

template <int S, int P, int N>
void CopyNarrow(const PhaseRows& rows, const Column<S>* columns, std::span<const PhaseRun> runs,
                const PhaseImages& images) {
  const Columns<S, P, N> copy(rows, columns);
  ForEachRun(rows, runs, images, [&](const float* in, int64_t count, float* out) HWY_ATTR { copy.Copy(in, count, out); });
}

/// P phases of rows with stride S.
template <int S, int P>
class StridedRows {
 public:
  explicit StridedRows(const PhaseRows& rows) : rows_(rows) {
    const int64_t columns = CeilDiv(rows.width, kLanes);
    if (columns > kTogether) {
      inside_begin_ = std::min(CeilDiv(std::max<int64_t>(-rows.from, 0), S * kLanes), columns);
      inside_end_ = std::clamp(std::max<int64_t>(rows.in_width - rows.from, 0) / (S * kLanes), inside_begin_,
                               std::max(rows.width / kLanes, inside_begin_));
    }
    edges_ = columns - (inside_end_ - inside_begin_);
    if (edges_ <= kTogether) Find(0, edges_, found_);
  }

  void Copy(std::span<const PhaseRun> runs, const PhaseImages& images) const {
    if (inside_end_ == inside_begin_ && edges_ <= kTogether) {
      if constexpr (kTogether > 2) {
        if (edges_ == 4) return CopyNarrow<S, P, 4>(rows_, found_, runs, images);
        if (edges_ == 3) return CopyNarrow<S, P, 3>(rows_, found_, runs, images);
      }
      return edges_ == 2 ? CopyNarrow<S, P, 2>(rows_, found_, runs, images)
                         : CopyNarrow<S, P, 1>(rows_, found_, runs, images);
    }
    constexpr int64_t kNear = 16;  // rows that stay in the first cache
    ForEachRun(rows_, runs, images, [&](const float* in, int64_t rows, float* out) {
      for (int64_t r = 0; r < rows; r += kNear)
        CopyNear(in + r * rows_.in_step, std::min(kNear, rows - r), out + r * rows_.out_step);
    });
  }

 private:
  static constexpr int64_t kTogether = S == 4 ? 2 : 4;  // columns whose masks are in registers

  /// Columns that reach out of the image, or are not a whole vector; the last is one all the same where rows have that many
  /// elements.
  void Find(int64_t first, int64_t count, Column<S>* columns) const {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t column = first + i < inside_begin_ ? first + i : first + i + inside_end_ - inside_begin_;
      columns[i].to = std::min(column * kLanes, std::max<int64_t>(rows_.width - kLanes, 0));
      columns[i].from = rows_.from + S * columns[i].to;
      for (int k = 0; k < S; ++k) columns[i].masks[k] = MaskOf(columns[i].from + k * kLanes, rows_.in_width);
    }
  }

  void CopyNear(const float* in, int64_t rows, float* out) const {
    CopyInside(in, rows, out);
    for (int64_t first = 0; first < edges_; first += kTogether) {
      Column<S> columns[kTogether];
      const int64_t count = std::min(kTogether, edges_ - first);
      if (edges_ > kTogether) Find(first, count, columns);
      const Column<S>* edges = edges_ > kTogether ? columns : found_;
      int64_t i = 0;
      for (; i + 2 <= count; i += 2) Columns<S, P, 2>(rows_, edges + i).Copy(in, rows, out);
      if (i < count) Columns<S, P, 1>(rows_, edges + i).Copy(in, rows, out);
    }
  }

  void CopyInside(const float* in, int64_t rows, float* out) const {
    const D d;
    for (; rows > 0; --rows, in += rows_.in_step, out += rows_.out_step) {
      const float* from = in + rows_.from;
      for (int64_t to = inside_begin_ * kLanes; to < inside_end_ * kLanes; to += kLanes) {
        V v[S];
#pragma GCC unroll 4
        for (int k = 0; k < S; ++k) v[k] = hn::LoadU(d, from + S * to + k * kLanes);
        StorePhases<S, P>(v, rows_.out_phase, out + to);
      }
    }
  }

  const PhaseRows& rows_;
  int64_t inside_begin_ = 0, inside_end_ = 0, edges_;
  Column<S> found_[kTogether] = {};
};

#if HWY_TARGET == HWY_AVX3

/// Any other stride, by gathers. Writes nothing behind a row.
class GatheredRows {
 public:
  static constexpr int64_t kMostStride = INT32_MAX / 16;  // indices of 16 lanes are of 32 bits

  explicit GatheredRows(const PhaseRows& rows) : rows_(rows) {}

  void Copy(std::span<const PhaseRun> runs, const PhaseImages& images) const {
    ForEachRun(rows_, runs, images, [&](const float* in, int64_t rows, float* out) { CopyRun(in, rows, out); });
  }

 private:
  void CopyRun(const float* row, int64_t count, float* row_out) const {
    const __m512i indices = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                               _mm512_set1_epi32(static_cast<int>(rows_.stride)));
    for (int64_t phase = 0; phase < rows_.phases; ++phase) {
      for (int64_t column = 0; column < rows_.width; column += 16) {
        const int64_t at = rows_.from + phase + column * rows_.stride;
        uint32_t bits = 0;
        for (int64_t i = 0; i < 16; ++i) {
          const int64_t x = at + i * rows_.stride;
          bits |= x >= 0 && x < rows_.in_width ? 1u << i : 0u;
        }
        const auto mask = static_cast<__mmask16>(bits),
                   kept = static_cast<__mmask16>((1u << std::min<int64_t>(rows_.width - column, 16)) - 1);
        const float* in = row + at;
        float* out = row_out + phase * rows_.out_phase + column;
        for (int64_t r = 0; r < count; ++r, in += rows_.in_step, out += rows_.out_step)
          _mm512_mask_storeu_ps(out, kept, _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, indices, in, sizeof(float)));
      }
    }
  }

  const PhaseRows& rows_;
};

#endif

/// Elements of a row a stride apart, all inside of it.
HWY_INLINE void CopyElements(const float* in, int64_t stride, int64_t count, float* out) {
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

/// Any stride, one phase after the other. Writes nothing behind a row.
class PickedRows {
 public:
  explicit PickedRows(const PhaseRows& rows) : rows_(rows) {}

  void Copy(std::span<const PhaseRun> runs, const PhaseImages& images) const {
    ForEachRun(rows_, runs, images, [&](const float* in, int64_t rows, float* out) { CopyRun(in, rows, out); });
  }

 private:
  void CopyRun(const float* row, int64_t count, float* row_out) const {
    for (int64_t phase = 0; phase < rows_.phases; ++phase) {
      const int64_t from = rows_.from + phase, inside = rows_.in_width - from,
                    first = std::clamp<int64_t>(CeilDiv(-from, rows_.stride), 0, rows_.width),
                    end = std::clamp<int64_t>(inside <= 0 ? 0 : CeilDiv(inside, rows_.stride), first, rows_.width);
      const float* in = row + from + first * rows_.stride;
      float* out = row_out + phase * rows_.out_phase;
      for (int64_t r = 0; r < count; ++r, in += rows_.in_step, out += rows_.out_step) {
        std::fill(out, out + first, 0.0f);
        CopyElements(in, rows_.stride, end - first, out + first);
        std::fill(out + end, out + rows_.width, 0.0f);
      }
    }
  }

  const PhaseRows& rows_;
};

/// The phases that there are, of S.
template <int S, int P = 1>
void CopyStrided(const PhaseRows& rows, std::span<const PhaseRun> runs, const PhaseImages& images) {
  if constexpr (P < S) {
    if (rows.phases > P) return CopyStrided<S, P + 1>(rows, runs, images);
  }
  StridedRows<S, P>(rows).Copy(runs, images);
}

void CopyRows(const PhaseRows& rows, std::span<const PhaseRun> runs, const PhaseImages& images) {
  if constexpr (kMasks) {
    if (rows.stride == 1) return CopyStrided<1>(rows, runs, images);
    if (rows.stride == 2) return CopyStrided<2>(rows, runs, images);
    if (rows.stride == 4) return CopyStrided<4>(rows, runs, images);
  }
#if HWY_TARGET == HWY_AVX3
  if (rows.stride <= GatheredRows::kMostStride) return GatheredRows(rows).Copy(runs, images);
#endif
  PickedRows(rows).Copy(runs, images);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(CopyRows);

void CopyPhaseRows(const PhaseRows& rows, std::span<const PhaseRun> runs, const PhaseImages& images) {
  HWY_DYNAMIC_DISPATCH(CopyRows)(rows, runs, images);
}

}  // namespace tessera::cpu
#endif
