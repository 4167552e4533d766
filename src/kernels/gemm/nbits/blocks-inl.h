// The scales and zero points of weights of few bits. Included once per target by nbits.cpp and nbits_quantized.cpp.

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/gemm/nbits/nbits.h"

#if defined(TESSERA_NBITS_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_NBITS_BLOCKS_INL_H
#undef TESSERA_NBITS_BLOCKS_INL_H
#else
#define TESSERA_NBITS_BLOCKS_INL_H
#endif

#include "kernels/vector/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// Of the lanes of a vector of quantized values: the block of each, counted from the first lane's. All 0 if it is one.
/// `paired`: of those of two vectors, whose halves of 8 bytes alternate.
inline auto BlocksOfLanes(const NBitsWeights& w, bool paired = false) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  const bool several = w.block_bytes() < (paired ? 8 : 4) * kLanes;
  HWY_ALIGN int32_t blocks[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const int64_t byte = paired ? lane / 4 * 16 + lane / 2 % 2 * (4 * kLanes) : 4 * lane;
    blocks[lane] = several ? static_cast<int32_t>(byte / w.block_bytes()) : 0;
  }
  return hn::SetTableIndices(hn::ScalableTag<float>(), blocks);
}

/// The scales of a row of weights.
class RowScales {
 public:
  RowScales(const NBitsWeights& w, int64_t row)
      : scales_(w.scales + row * w.blocks),
        readable_((w.n - row) * w.blocks),
        blocks_(w.blocks),
        shift_(std::countr_zero(static_cast<uint64_t>(w.block_bytes()))) {}

  /// Prefetches as many as a row has, from those of the values at `byte` on.
  HWY_INLINE void Prefetch(int64_t byte) const {
    constexpr int64_t kPerCacheLine = 16;
    const float* from = scales_ + (byte >> shift_);
    for (int64_t i = 0; i < blocks_; i += kPerCacheLine) __builtin_prefetch(from + i, 0, 2);
  }
  HWY_INLINE float At(int64_t byte) const { return scales_[byte >> shift_]; }

  /// Of the lanes of the vector of values at `byte`, which may span several blocks; `blocks` is BlocksOfLanes().
  template <class Indices>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<float>> OfLanes(int64_t byte, Indices blocks) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> d;
    constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
    const int64_t block = byte >> shift_;
    if (HWY_LIKELY(block + kLanes <= readable_)) return hn::TableLookupLanes(hn::LoadU(d, scales_ + block), blocks);
    HWY_ALIGN float last[kLanes] = {};
    for (int64_t i = 0; i < blocks_ - block && i < kLanes; ++i) last[i] = scales_[block + i];
    return hn::TableLookupLanes(hn::Load(d, last), blocks);
  }

 private:
  const float* scales_;
  int64_t readable_;  // without leaving the tensor
  int64_t blocks_;
  int shift_;  // from bytes to blocks
};

/// A vector of packed zero points, the first of which begins a byte. Past `readable` bytes, where the tensor ends, they are
/// zeros.
template <int kBits, class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> UnpackZeros(D d, const uint8_t* packed, int64_t readable) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr size_t kLanes = HWY_LANES(float), kBytes = std::max<size_t>(kLanes * kBits / 8, 1);
  const hn::RebindToSigned<D> di;
  HWY_ALIGN uint8_t last[std::max(kBytes, sizeof(uint64_t))] = {};
  if (HWY_UNLIKELY(readable < static_cast<int64_t>(kBytes))) {
    std::memcpy(last, packed, static_cast<size_t>(readable));
    packed = last;
  }
  if constexpr (kBits == 8) {
    return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(hn::Rebind<uint8_t, D>(), packed)));
  } else {
    const hn::RebindToUnsigned<D> du;
    static_assert(kBytes <= sizeof(uint64_t));
    uint64_t bits = 0;
    std::memcpy(&bits, packed, kBytes);
    const auto shifts = hn::Mul(hn::Iota(du, 0), hn::Set(du, kBits));
    auto quantized = hn::Set(du, static_cast<uint32_t>(bits));
    if constexpr (kBytes > sizeof(uint32_t)) {
      const auto both = hn::BitCast(du, hn::Set(hn::RepartitionToWide<decltype(du)>(), bits));
      quantized = hn::TableLookupLanes(both, hn::IndicesFromVec(du, hn::ShiftRight<5>(shifts)));
    }
    quantized = hn::And(hn::Shr(quantized, hn::And(shifts, hn::Set(du, 31))), hn::Set(du, (1u << kBits) - 1));
    return hn::ConvertTo(d, hn::BitCast(di, quantized));
  }
}

/// Subtracts the sum over the blocks of scale times zero point times `sums` from the totals of rows of weights, from `row`
/// on, with kRows rows of A, whose sums are `blocks` apart. Zero points count from `origin`, as the quantized values did.
template <int kBits, int kWeightRows, int kRows>
HWY_INLINE void SubtractZeroPointTerms(
    const NBitsWeights& w, int64_t row, const float* HWY_RESTRICT sums, float origin,
    hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<float>> (&totals)[kWeightRows][kRows]) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  using V = hn::Vec<hn::ScalableTag<float>>;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  const int64_t zeros_end = w.n * w.zero_row_bytes();
  const V common = hn::Set(d, static_cast<float>(w.common_zero));
  const auto subtract = [&](int64_t b, auto load) HWY_ATTR {
    V of_block[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) of_block[r] = load(sums + r * w.blocks + b);
#pragma GCC unroll 4
    for (int i = 0; i < kWeightRows; ++i) {
      const int64_t at = (row + i) * w.blocks + b, byte = (row + i) * w.zero_row_bytes() + b * kBits / 8;
      const V zeros = w.float_zeros != nullptr ? load(w.float_zeros + at)
                      : w.zeros != nullptr     ? UnpackZeros<kBits>(d, w.zeros + byte, zeros_end - byte)
                                               : common;
      const V offset = hn::Mul(load(w.scales + at), hn::Sub(zeros, hn::Set(d, origin)));
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) totals[i][r] = hn::NegMulAdd(offset, of_block[r], totals[i][r]);
    }
  };
  int64_t b = 0;
  for (; b + kLanes <= w.blocks; b += kLanes) subtract(b, [&](const float* from) HWY_ATTR { return hn::LoadU(d, from); });
  if (const int64_t left = w.blocks - b; left > 0)
    subtract(b, [&](const float* from) HWY_ATTR { return LoadFirst(d, from, left); });
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
