// How rows of a panel come into registers, and panels of 16 bits to be. Part of gemm_tile-inl.h.

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "kernels/vector/nan-inl.h"
#include "tessera/numeric.h"

#if defined(TESSERA_HALF_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_HALF_PANEL_INL_H
#undef TESSERA_HALF_PANEL_INL_H
#else
#define TESSERA_HALF_PANEL_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether the processor converts float16 itself: Highway's emulation knows neither infinities nor NaNs.
constexpr bool kConvertsFloat16 = HWY_TARGET != HWY_SSE4;

/// Of a row of a panel the columns of N vectors, 1 or 2. A row of bfloat16 is a vector of 32 bits: the columns of the first
/// vector are the lower halves of its lanes, those of the second the upper ones.
template <class D, class B, int N>
HWY_INLINE void LoadColumns(D d, const B* b, hn::Vec<D> (&columns)[N]) {
  constexpr int kLanes = static_cast<int>(HWY_LANES(hn::TFromD<D>));
  if constexpr (std::is_same_v<B, BFloat16>) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::LoadU(du, reinterpret_cast<const uint32_t*>(b));
    columns[0] = hn::BitCast(d, hn::ShiftLeft<16>(bits));
    if constexpr (N == 2) columns[1] = hn::BitCast(d, hn::And(bits, hn::Set(du, 0xffff0000u)));
  } else {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      if constexpr (std::is_same_v<B, Float16>) {
        const hn::Rebind<hwy::float16_t, D> dh;
        columns[j] = hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(b) + j * kLanes));
      } else {
        columns[j] = hn::LoadU(d, b + j * kLanes);
      }
    }
  }
}

/// The upper half of each is what is left: to nearest, ties to even; a NaN stays one.
template <class V>
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<hn::DFromV<V>>> RoundUpperHalf(V v) {
  const hn::RebindToUnsigned<hn::DFromV<V>> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
  return hn::IfThenElse(hn::RebindMask(du, NanLanes(v)), hn::Or(bits, hn::Set(du, 0x400000u)), rounded);
}

/// Rows of a panel of two vectors, rounded to the 16 bits of B.
template <class B>
void NarrowPanel(const float* panel, int64_t rows, uint16_t* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  constexpr int kLanes = static_cast<int>(HWY_LANES(float));
  for (int64_t p = 0; p < rows; ++p, panel += 2 * kLanes, out += 2 * kLanes) {
    const auto low = hn::LoadU(d, panel), high = hn::LoadU(d, panel + kLanes);
    if constexpr (std::is_same_v<B, BFloat16>) {
      const auto bits =
          hn::Or(hn::ShiftRight<16>(RoundUpperHalf(low)), hn::And(RoundUpperHalf(high), hn::Set(du, 0xffff0000u)));
      hn::StoreU(bits, du, reinterpret_cast<uint32_t*>(out));
    } else {
      const hn::Rebind<hwy::float16_t, decltype(d)> dh;
      hn::StoreU(hn::DemoteTo(dh, low), dh, reinterpret_cast<hwy::float16_t*>(out));
      hn::StoreU(hn::DemoteTo(dh, high), dh, reinterpret_cast<hwy::float16_t*>(out) + kLanes);
    }
  }
}

/// The same rows as floats.
template <class B>
void WidenPanel(const B* panel, int64_t rows, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  constexpr int kLanes = static_cast<int>(HWY_LANES(float));
  for (int64_t p = 0; p < rows; ++p, panel += 2 * kLanes, out += 2 * kLanes) {
    hn::Vec<decltype(d)> columns[2];
    LoadColumns(d, panel, columns);
    hn::StoreU(columns[0], d, out);
    hn::StoreU(columns[1], d, out + kLanes);
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
