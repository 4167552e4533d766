// Multiply-adds of pairs of unsigned with signed bytes. Included once per target after hwy/highway.h.

#if defined(TESSERA_BYTE_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_BYTE_PAIRS_INL_H
#undef TESSERA_BYTE_PAIRS_INL_H
#else
#define TESSERA_BYTE_PAIRS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using V8 = hn::Vec<hn::ScalableTag<uint8_t>>;
using V16 = hn::Vec<hn::ScalableTag<int16_t>>;
using V32 = hn::Vec<hn::ScalableTag<int32_t>>;

#if HWY_ARCH_X86
constexpr bool kAvailable = true;

/// Products of adjacent bytes, unsigned with signed, added in pairs.
HWY_INLINE V16 MultiplyPairs(V8 a, V8 b) {
#if HWY_TARGET == HWY_AVX3
  return V16{_mm512_maddubs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  return V16{_mm256_maddubs_epi16(a.raw, b.raw)};
#else
  return V16{_mm_maddubs_epi16(a.raw, b.raw)};
#endif
}
/// Sums of adjacent 16-bit values.
HWY_INLINE V32 Widen(V16 a, V16 one) {
#if HWY_TARGET == HWY_AVX3
  return V32{_mm512_madd_epi16(a.raw, one.raw)};
#elif HWY_TARGET == HWY_AVX2
  return V32{_mm256_madd_epi16(a.raw, one.raw)};
#else
  return V32{_mm_madd_epi16(a.raw, one.raw)};
#endif
}
#else
constexpr bool kAvailable = false;
HWY_INLINE V16 MultiplyPairs(V8, V8) { return hn::Zero(hn::ScalableTag<int16_t>()); }
HWY_INLINE V32 Widen(V16, V16) { return hn::Zero(hn::ScalableTag<int32_t>()); }
#endif

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
