// Rounding of scaled accumulators to 8-bit quantized values. Included once per target after hwy/highway.h.

#if defined(TESSERA_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_CODES_INL_H
#undef TESSERA_CODES_INL_H
#else
#define TESSERA_CODES_INL_H
#endif

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

using RoundedVector = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<int32_t>>;

/// To the nearest whole numbers, right after saturation to 16 bits: what is far too small, and NaN, may become the least
/// number.
HWY_INLINE auto RoundToInt32(hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<float>> scaled) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_AVX2
  // Conversion makes the least number of what is out of range, which only what is too large must not become.
  return hn::Vec<hn::ScalableTag<int32_t>>{_mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(1e6f), scaled.raw))};
#elif HWY_TARGET == HWY_AVX3
  return hn::Vec<hn::ScalableTag<int32_t>>{_mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(1e6f), scaled.raw))};
#else
  const hn::ScalableTag<float> df;  // the operand order makes NaN the least
  return hn::NearestInt(hn::Min(hn::Max(scaled, hn::Set(df, -1e6f)), hn::Set(df, 1e6f)));
#endif
}

/// The quantized values of four vectors of rounded numbers, one vector after the other.
#if HWY_TARGET == HWY_AVX3
template <class T>
HWY_INLINE __m512i PackQuantized(RoundedVector v0, RoundedVector v1, RoundedVector v2, RoundedVector v3, int32_t zero) {
  const __m512i offset = _mm512_set1_epi16(static_cast<int16_t>(zero));
  const __m512i pairs0 = _mm512_adds_epi16(_mm512_packs_epi32(v0.raw, v1.raw), offset);
  const __m512i pairs1 = _mm512_adds_epi16(_mm512_packs_epi32(v2.raw, v3.raw), offset);
  const __m512i bytes = std::is_signed_v<T> ? _mm512_packs_epi16(pairs0, pairs1) : _mm512_packus_epi16(pairs0, pairs1);
  // Each quarter holds four values of each vector.
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
}
template <class T>
HWY_INLINE void StoreQuantized(__m512i bytes, T* to) {
  _mm512_storeu_si512(to, bytes);
}
#elif HWY_TARGET == HWY_AVX2
template <class T>
HWY_INLINE __m256i PackQuantized(RoundedVector v0, RoundedVector v1, RoundedVector v2, RoundedVector v3, int32_t zero) {
  const __m256i offset = _mm256_set1_epi16(static_cast<int16_t>(zero));
  const __m256i pairs0 = _mm256_adds_epi16(_mm256_packs_epi32(v0.raw, v1.raw), offset);
  const __m256i pairs1 = _mm256_adds_epi16(_mm256_packs_epi32(v2.raw, v3.raw), offset);
  const __m256i bytes = std::is_signed_v<T> ? _mm256_packs_epi16(pairs0, pairs1) : _mm256_packus_epi16(pairs0, pairs1);
  // Each half holds four values of each vector.
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
template <class T>
HWY_INLINE void StoreQuantized(__m256i bytes, T* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
}
#endif

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
