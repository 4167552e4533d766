// A square of 32-bit elements in as many vectors as they have lanes: rows become columns. Included once per target after
// hwy/highway.h; for AVX-512 alone.

#if defined(TESSERA_TRANSPOSE_SQUARE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_TRANSPOSE_SQUARE_INL_H
#undef TESSERA_TRANSPOSE_SQUARE_INL_H
#else
#define TESSERA_TRANSPOSE_SQUARE_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
/// Four rounds, each of which exchanges one bit of a vector's number for one of a lane's.
HWY_INLINE void TransposeSquare(hn::Vec<hn::ScalableTag<float>> (&rows)[16]) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<double> pairs;
  hn::Vec<decltype(d)> other[16];
  // Blocks of 4 x 4 inside 128 bits.
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    other[i] = hn::InterleaveLower(d, rows[i], rows[i + 1]);
    other[i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + 1]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 4) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const auto first = hn::BitCast(pairs, other[i + half]), second = hn::BitCast(pairs, other[i + half + 2]);
      rows[i + 2 * half] = hn::BitCast(d, hn::InterleaveLower(pairs, first, second));
      rows[i + 2 * half + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, first, second));
    }
  }
  // The blocks themselves: rows[4 * i + j] has column j of each block in the i-th row of blocks.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 r0 = rows[j].raw, r1 = rows[4 + j].raw, r2 = rows[8 + j].raw, r3 = rows[12 + j].raw;
    const __m512 even01 = _mm512_shuffle_f32x4(r0, r1, 0x88), odd01 = _mm512_shuffle_f32x4(r0, r1, 0xdd);
    const __m512 even23 = _mm512_shuffle_f32x4(r2, r3, 0x88), odd23 = _mm512_shuffle_f32x4(r2, r3, 0xdd);
    other[j].raw = _mm512_shuffle_f32x4(even01, even23, 0x88);
    other[4 + j].raw = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    other[8 + j].raw = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    other[12 + j].raw = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) rows[i] = other[i];
}
#endif

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
