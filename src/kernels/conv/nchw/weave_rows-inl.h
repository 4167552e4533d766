// Rows of a transposed convolution with strides: the phases of a vector of pixels of a few planes are summed side by side
// and woven. Included once per target after hwy/highway.h, by conv_transpose.cpp.

#if defined(TESSERA_WEAVE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_WEAVE_ROWS_INL_H
#undef TESSERA_WEAVE_ROWS_INL_H
#else
#define TESSERA_WEAVE_ROWS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/conv/nchw/conv_transpose.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// The taps of one phase of a row.
struct PhaseTaps {
  const TransposedTap* taps;
  int64_t count;
  int64_t pixels;
  int64_t first;  // pixels that every tap reaches
  int64_t last;
};

/// Loads that read no more than they keep.
constexpr bool kWeaves = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;

/// Adds what the taps of a phase contribute to a vector of pixels, from j on, of each of Q planes; kInside: all taps reach
/// all of them.
template <bool kWeighted, bool kInside, int Q, class D, class T>
HWY_INLINE void AddTaps(D d, const TransposedPlanes<T>& planes, int64_t plane, const PhaseTaps& phase, int64_t j,
                        hwy::HWY_NAMESPACE::Vec<D>* sums) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> signed_d;
  using Index = hn::TFromD<decltype(signed_d)>;
  const auto pixels = hn::Iota(signed_d, static_cast<Index>(j));
  const T *const columns = planes.columns + plane * planes.columns_step + j, *const weights =
                                                                                 kWeighted ? planes.weights +
                                                                                                 plane * planes.weights_step
                                                                                           : nullptr;
  const int64_t columns_step = planes.columns_step, weights_step = planes.weights_step;
  for (int64_t t = 0; t < phase.count; ++t) {
    const TransposedTap& tap = phase.taps[t];
    const T* from = columns + tap.from;
    const auto reached = hn::RebindMask(d, hn::AndNot(hn::Lt(pixels, hn::Set(signed_d, static_cast<Index>(tap.first))),
                                                      hn::Lt(pixels, hn::Set(signed_d, static_cast<Index>(tap.last)))));
#pragma GCC unroll 4
    for (int q = 0; q < Q; ++q) {
      const auto v = kInside ? hn::LoadU(d, from + q * columns_step) : hn::MaskedLoad(reached, d, from + q * columns_step);
      if constexpr (!kWeighted) {
        sums[q] = hn::Add(sums[q], v);
      } else {
        const auto sum = hn::MulAdd(hn::Set(d, weights[q * weights_step + tap.weight]), v, sums[q]);
        sums[q] = kInside ? sum : hn::IfThenElse(reached, sum, sums[q]);  // the weight may be infinite
      }
    }
  }
}

template <int S, int Q, class D, class T, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE void StoreWoven(D d, const V (&sums)[S][Q], int q, T* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (S == 2) hn::StoreInterleaved2(sums[0][q], sums[1][q], d, to);
  else if constexpr (S == 3) hn::StoreInterleaved3(sums[0][q], sums[1][q], sums[2][q], d, to);
  else hn::StoreInterleaved4(sums[0][q], sums[1][q], sums[2][q], sums[3][q], d, to);
}

/// A row of Q planes with stride S. Unless `exact`, what is behind it may be written with it.
template <bool kWeighted, int S, int Q, class D, class T>
HWY_INLINE void WeavePlanes(D d, const TransposedPlanes<T>& planes, int64_t plane, const PhaseTaps (&phases)[S],
                            int64_t width, bool exact, T* out) {
  namespace hn = hwy::HWY_NAMESPACE;
  using V = hn::Vec<D>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  for (int64_t j = 0; S * j < width; j += kLanes) {
    V sums[S][Q];
#pragma GCC unroll 4
    for (int p = 0; p < S; ++p) {
#pragma GCC unroll 4
      for (int q = 0; q < Q; ++q) sums[p][q] = hn::Set(d, planes.bias == nullptr ? T{0} : planes.bias[plane + q]);
      if (j >= phases[p].first && j + kLanes <= phases[p].last)
        AddTaps<kWeighted, true, Q>(d, planes, plane, phases[p], j, sums[p]);
      else AddTaps<kWeighted, false, Q>(d, planes, plane, phases[p], j, sums[p]);
    }
#pragma GCC unroll 4
    for (int q = 0; q < Q; ++q) {
      T* to = out + q * planes.out_step + S * j;
      if (exact && S * (j + kLanes) > width) {
        HWY_ALIGN T woven[S * kLanes];
        StoreWoven<S, Q>(d, sums, q, woven);
        std::copy_n(woven, width - S * j, to);
      } else {
        StoreWoven<S, Q>(d, sums, q, to);
      }
    }
  }
}

/// A row of all planes, in vectors that it fills; `behind`: elements behind it that are written later.
template <int S, class D, class T>
void WeaveRow(D d, const TransposedPlanes<T>& planes, const PhaseTaps (&phases)[S], int64_t width, int64_t behind,
              T* first) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  if constexpr (kLanes * sizeof(T) > 16) {
    if (CeilDiv(width, int64_t{S}) <= kLanes / 2) return WeaveRow<S>(hn::Half<D>(), planes, phases, width, behind, first);
  }
  constexpr int kTogether = S == 2 ? 4 : 2;
  const bool exact = behind < S * kLanes;
  const auto weave = [&](auto weighted) HWY_ATTR {
    constexpr bool kWeighted = decltype(weighted)::value;
    int64_t i = 0;
    for (; i + kTogether <= planes.count; i += kTogether)
      WeavePlanes<kWeighted, S, kTogether>(d, planes, i, phases, width, exact, first + i * planes.out_step);
    for (; i < planes.count; ++i)
      WeavePlanes<kWeighted, S, 1>(d, planes, i, phases, width, exact, first + i * planes.out_step);
  };
  planes.weights != nullptr ? weave(std::true_type()) : weave(std::false_type());
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
