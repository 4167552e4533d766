// Dot products of two bfloat16 in lanes of float32, by one instruction (AVX512-BF16) where the processor has it.
// Included once per target after hwy/highway.h.

#if defined(TESSERA_BF16_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_BF16_PAIRS_INL_H
#undef TESSERA_BF16_PAIRS_INL_H
#else
#define TESSERA_BF16_PAIRS_INL_H
#endif

#include "base/cpu_features.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

/// A lane of pairs holds two neighbours, the first in its lower half. By assembler, as the instruction sets that the
/// kernels are compiled for lack it: whoever uses this asks Available() at run time. Denormals count as zero.
struct PairProduct {
  using Accumulators = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<float>>;
  using Pairs = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<uint32_t>>;

#if HWY_TARGET == HWY_AVX3
  static constexpr bool kPossible = true;
  static bool Available() { return HasAvx512Bf16(); }
  HWY_INLINE Accumulators Add(Accumulators sum, Pairs a, Pairs b) const {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  }
#else
  static constexpr bool kPossible = false;
  static bool Available() { return false; }
  HWY_INLINE Accumulators Add(Accumulators sum, Pairs, Pairs) const { return sum; }
#endif
};

/// The same in several instructions, so that what is built upon it can be tested anywhere.
struct EmulatedPairProduct {
  using Accumulators = PairProduct::Accumulators;
  using Pairs = PairProduct::Pairs;

  static constexpr bool kPossible = true;
  static bool Available() { return true; }
  HWY_INLINE Accumulators Add(Accumulators sum, Pairs a, Pairs b) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> d;
    const auto first = [&](Pairs v) { return hn::BitCast(d, hn::ShiftLeft<16>(v)); };
    const auto second = [&](Pairs v) {
      return hn::BitCast(d, hn::And(v, hn::Set(hn::ScalableTag<uint32_t>(), 0xffff0000u)));
    };
    return hn::MulAdd(first(a), first(b), hn::MulAdd(second(a), second(b), sum));
  }
};

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
