// Rounding of scaled sums to 8-bit codes. Included once per target after hwy/highway.h.

#if defined(TESSERA_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_CODES_INL_H
#undef TESSERA_CODES_INL_H
#else
#define TESSERA_CODES_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

/// To the nearest whole numbers, right after saturation to 16 bits: what is far too small, and NaN, may become the least number.
HWY_INLINE auto RoundCodes(hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<float>> scaled) {
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

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
