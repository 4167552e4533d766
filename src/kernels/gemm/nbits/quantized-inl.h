// Rows of A as integers of one or three bytes, for weights of 4 or 8 bits: their layout, and their dot products.
// Included once per target by nbits_quantized.cpp and nbits_quantized_panel.cpp.

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/rounding.h"
#include "kernels/gemm/nbits/quantized.h"

#if defined(TESSERA_NBITS_QUANTIZED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_NBITS_QUANTIZED_INL_H
#undef TESSERA_NBITS_QUANTIZED_INL_H
#else
#define TESSERA_NBITS_QUANTIZED_INL_H
#endif

#include "kernels/gemm/byte_pairs-inl.h"
#include "kernels/gemm/dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using D32 = hn::ScalableTag<int32_t>;
using D16 = hn::ScalableTag<int16_t>;
using D8 = hn::ScalableTag<uint8_t>;
using VF = hn::Vec<DF>;
using V32 = hn::Vec<D32>;
using V16 = hn::Vec<D16>;
using V8 = hn::Vec<D8>;

constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(int32_t));
constexpr int64_t kVectorBytes = 4 * kLanes;

/// Accumulators of pairs of one byte. They have 16 bits for weights of 4, which 16 products cannot overflow.
/// For weights of 8 the two of one lane could: there quantized values count from the middle of their range.
template <int kBits>
struct PairAccumulators {
  using Accumulators = std::conditional_t<kBits == 4, V16, V32>;
  /// What is subtracted from each quantized value.
  static constexpr int kCenter = kBits == 4 ? 0 : 128;

  static HWY_INLINE Accumulators Of(V32 lanes) {
    if constexpr (kBits == 4) return hn::BitCast(D16(), lanes);
    else return lanes;
  }
  static HWY_INLINE Accumulators Add(Accumulators acc, V8 quantized, V8 a) {
    if constexpr (kBits == 4) {
      return hn::Add(acc, MultiplyPairs(quantized, a));
    } else {
      const hn::RebindToSigned<D8> d;
      const auto centered = hn::BitCast(d, hn::Xor(quantized, hn::Set(D8(), kCenter))), factor = hn::BitCast(d, a);
      const auto with_sign = hn::IfNegativeThenElse(centered, hn::Neg(factor), factor);
      return hn::Add(
          acc, Widen(MultiplyPairs(hn::BitCast(D8(), hn::Abs(centered)), hn::BitCast(D8(), with_sign)), hn::Set(D16(), 1)));
    }
  }
  static HWY_INLINE V32 ToLanes(Accumulators acc) {
    if constexpr (kBits == 4) return Widen(acc, hn::Set(D16(), 1));
    else return acc;
  }
};

/// The same by dot products.
struct DotAccumulators {
  using Accumulators = V32;
  static constexpr int kCenter = 0;

  static HWY_INLINE Accumulators Of(V32 lanes) { return lanes; }
  static HWY_INLINE Accumulators Add(Accumulators acc, V8 quantized, V8 a) { return DotProduct().Add(acc, quantized, a); }
  static HWY_INLINE V32 ToLanes(Accumulators acc) { return acc; }
};

/// What the kernels are compiled for.
template <class S, int kBitsOfWeights, int kBytesOfA>
struct QuantizedForm : S {
  static constexpr int kBits = kBitsOfWeights;
  static constexpr int kLimbs = kBytesOfA;
  /// Weights in a lane of 4 bytes. Of 4 bits, the even ones and the odd ones meet a lane of A each.
  static constexpr int64_t kGroup = 32 / kBits;
  /// Lanes of each limb of A, and of unpacked quantized values, that a lane of weights is multiplied by.
  static constexpr int64_t kHalves = 8 / kBits;
  /// The largest integer of A. Of three bytes: so that accumulators fit into 32 bits, of 32 products for weights of 4 bits,
  /// of two lanes' 8 for 8, which few rows count from the middle of their range, or of one's 4.
  static constexpr int32_t kMost = kLimbs == 1 ? 127 : (1 << (kBits == 4 ? 22 : 21)) - 1;
  /// Whether few rows accumulate two vectors in one, where units fill 8 of their lanes: what follows takes as
  /// long as the accumulation.
  static constexpr bool kPairsVectors = kBits == 8 && HWY_TARGET == HWY_AVX3;

  /// Offset of the first lane of a group in a row of A. Limbs follow each other from the highest, each of kHalves vectors.
  static HWY_INLINE int64_t Offset(int64_t group) {
    return group / kLanes * (kLimbs * kHalves * kVectorBytes) + group % kLanes * 4;
  }
};

/// choose(form) for the weights, the limbs and the processor.
template <class F>
auto ChooseQuantizedForm(const NBitsWeights& w, int limbs, F choose) {
  const bool four = w.bits == 4;
  if constexpr (DotProduct::kPossible) {
    static const bool dots = DotProduct::Available();
    if (dots && limbs == kFloatLimbs)
      return four ? choose(QuantizedForm<DotAccumulators, 4, 3>()) : choose(QuantizedForm<DotAccumulators, 8, 3>());
    if (dots) return four ? choose(QuantizedForm<DotAccumulators, 4, 1>()) : choose(QuantizedForm<DotAccumulators, 8, 1>());
  }
  return four ? choose(QuantizedForm<PairAccumulators<4>, 4, 1>()) : choose(QuantizedForm<PairAccumulators<8>, 8, 1>());
}

HWY_INLINE int64_t GroupsOf(const NBitsWeights& w) { return RoundUp(w.blocks * w.block_bytes() / 4, kLanes); }

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
