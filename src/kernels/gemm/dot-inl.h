// Dot products of four unsigned with signed bytes, or of two 16-bit values, in lanes of 32 bits, by one
// instruction (VNNI) where the processor has it. Included once per target after hwy/highway.h.

#if defined(TESSERA_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_DOT_INL_H
#undef TESSERA_DOT_INL_H
#else
#define TESSERA_DOT_INL_H
#endif

#include "base/cpu_features.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

/// Nothing saturates. By assembler, as the instruction sets that the kernels are compiled for lack it: whoever uses this
/// asks Available() at run time.
struct DotProduct {
  using Accumulators = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<int32_t>>;
  using Bytes = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<uint8_t>>;
  using Pairs = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<int16_t>>;

#if HWY_TARGET == HWY_AVX3
  static constexpr bool kPossible = true;
  static bool Available() { return HasAvx512Vnni(); }
  HWY_INLINE Accumulators Add(Accumulators sum, Bytes a, Bytes b) const {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  }
  HWY_INLINE Accumulators AddPairs(Accumulators sum, Pairs a, Pairs b) const {
    asm("vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  }
#elif HWY_TARGET == HWY_AVX2
  static constexpr bool kPossible = true;
  static bool Available() { return HasAvxVnni(); }
  HWY_INLINE Accumulators Add(Accumulators sum, Bytes a, Bytes b) const {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(a.raw), "x"(b.raw));
    return sum;
  }
  HWY_INLINE Accumulators AddPairs(Accumulators sum, Pairs a, Pairs b) const {
    asm("%{vex%} vpdpwssd %2, %1, %0" : "+x"(sum.raw) : "x"(a.raw), "x"(b.raw));
    return sum;
  }
#else
  static constexpr bool kPossible = false;
  static bool Available() { return false; }
  HWY_INLINE Accumulators Add(Accumulators sum, Bytes, Bytes) const { return sum; }
  HWY_INLINE Accumulators AddPairs(Accumulators sum, Pairs, Pairs) const { return sum; }
#endif
};

/// The same in several instructions, so that what is built upon it can be tested anywhere.
struct EmulatedDotProduct {
  using Accumulators = DotProduct::Accumulators;
  using Bytes = DotProduct::Bytes;

  HWY_INLINE Accumulators Add(Accumulators sum, Bytes a, Bytes b) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<int16_t> d16;
    const hn::ScalableTag<uint16_t> du16;
    const hn::ScalableTag<int32_t> d32;
    const auto signed_b = hn::BitCast(d16, b);
    const auto even_a = hn::BitCast(d16, hn::And(hn::BitCast(du16, a), hn::Set(du16, 0xff)));
    const auto odd_a = hn::BitCast(d16, hn::ShiftRight<8>(hn::BitCast(du16, a)));
    auto unused = hn::Zero(d32);
    sum = hn::ReorderWidenMulAccumulate(d32, even_a, hn::ShiftRight<8>(hn::ShiftLeft<8>(signed_b)), sum, unused);
    return hn::ReorderWidenMulAccumulate(d32, odd_a, hn::ShiftRight<8>(signed_b), sum, unused);
  }
};

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
