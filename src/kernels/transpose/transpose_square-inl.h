// A square of floats in vectors: rows become columns. Included once per target after hwy/highway.h; for AVX2 and AVX-512.

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

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
using FloatVector = hn::Vec<hn::ScalableTag<float>>;

/// Within each 128 bits: element i of the j-th vector becomes element j of the i-th.
HWY_INLINE void TransposeQuads(FloatVector& v0, FloatVector& v1, FloatVector& v2, FloatVector& v3) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<double> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1)),
             high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3)),
             high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
  v0 = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  v1 = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  v2 = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  v3 = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

#if HWY_TARGET == HWY_AVX3
/// 128 bits at a time: part i of the j-th vector becomes part j of the i-th.
HWY_INLINE void TransposeParts(FloatVector& v0, FloatVector& v1, FloatVector& v2, FloatVector& v3) {
  const __m512 even01 = _mm512_shuffle_f32x4(v0.raw, v1.raw, 0x88), odd01 = _mm512_shuffle_f32x4(v0.raw, v1.raw, 0xdd);
  const __m512 even23 = _mm512_shuffle_f32x4(v2.raw, v3.raw, 0x88), odd23 = _mm512_shuffle_f32x4(v2.raw, v3.raw, 0xdd);
  v0.raw = _mm512_shuffle_f32x4(even01, even23, 0x88);
  v1.raw = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
  v2.raw = _mm512_shuffle_f32x4(even01, even23, 0xdd);
  v3.raw = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
}
#else
HWY_INLINE void TransposeParts(FloatVector& v0, FloatVector& v1) {
  const hn::ScalableTag<float> d;
  const FloatVector lower = hn::ConcatLowerLower(d, v1, v0);
  v1 = hn::ConcatUpperUpper(d, v1, v0);
  v0 = lower;
}
#endif

/// As many vectors as they have lanes.
HWY_INLINE void TransposeSquare(FloatVector (&rows)[HWY_LANES(float)]) {
#pragma GCC unroll 4
  for (size_t i = 0; i < HWY_LANES(float); i += 4) TransposeQuads(rows[i], rows[i + 1], rows[i + 2], rows[i + 3]);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
#if HWY_TARGET == HWY_AVX3
    TransposeParts(rows[j], rows[4 + j], rows[8 + j], rows[12 + j]);
#else
    TransposeParts(rows[j], rows[4 + j]);
#endif
  }
}
#endif

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
