// The scales and zero points of weights of few bits. Included once per target by nbits.cpp and nbits_quantized.cpp.

#include <algorithm>
#include <bit>
#include <cstring>

#include <hwy/highway.h>

#include "simd/nbits.h"

#if defined(TESSERA_NBITS_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_NBITS_BLOCKS_INL_H
#undef TESSERA_NBITS_BLOCKS_INL_H
#else
#define TESSERA_NBITS_BLOCKS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// Of the lanes of a vector of codes: the block of each, counted from the first lane's. Zeros where all belong to one.
inline auto BlocksOfLanes(const NBitsWeights& w) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  HWY_ALIGN int32_t blocks[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    blocks[lane] = w.block_bytes() < 4 * kLanes ? static_cast<int32_t>(4 * lane / w.block_bytes()) : 0;
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

  HWY_INLINE float At(int64_t byte) const { return scales_[byte >> shift_]; }

  /// Of the lanes of the vector of codes at `byte`, where several blocks may lie; `blocks` is BlocksOfLanes().
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

/// Up to a vector of packed zero points, the first of which begins a byte.
template <int kBits, class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> UnpackZeros(D d, const uint8_t* packed, size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr auto kLanes = static_cast<size_t>(HWY_LANES(float));
  const hn::RebindToSigned<D> di;
  if constexpr (kBits == 8) {
    uint8_t codes[kLanes] = {};
    std::memcpy(codes, packed, count == kLanes ? kLanes : count);
    return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(hn::Rebind<uint8_t, D>(), codes)));
  } else {
    const hn::RebindToUnsigned<D> du;
    static_assert(kLanes * kBits <= 64);
    uint64_t bits = 0;
    std::memcpy(&bits, packed, count == kLanes ? kLanes * kBits / 8 : (count * kBits + 7) / 8);
    HWY_ALIGN uint32_t shifts[kLanes], words[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      shifts[i] = static_cast<uint32_t>(i * kBits % 32);
      words[i] = static_cast<uint32_t>(i * kBits / 32);
    }
    auto codes = hn::Set(du, static_cast<uint32_t>(bits));
    if constexpr (kLanes * kBits > 32) {
      codes = hn::TableLookupLanes(hn::BitCast(du, hn::Set(hn::RepartitionToWide<decltype(du)>(), bits)), hn::SetTableIndices(du, words));
    }
    codes = hn::And(hn::Shr(codes, hn::Load(du, shifts)), hn::Set(du, (1u << kBits) - 1));
    return hn::ConvertTo(d, hn::BitCast(di, codes));
  }
}

/// Takes the sum over the blocks of scale times zero point times `sums` from the totals of kRows rows of A, whose sums are
/// `blocks` apart.
template <int kBits, int kRows>
HWY_INLINE void SubtractZeroProducts(const NBitsWeights& w, int64_t row, const float* HWY_RESTRICT sums,
                                     hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<float>> (&totals)[kRows]) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  const float* HWY_RESTRICT scales = w.scales + row * w.blocks;
  const auto subtract = [&](int64_t b, size_t count, auto load) HWY_ATTR {
    const auto zeros = w.float_zeros != nullptr ? load(w.float_zeros + row * w.blocks + b)
                                                : UnpackZeros<kBits>(d, w.zeros + row * w.zero_row_bytes() + b * kBits / 8, count);
    const auto offset = hn::Mul(load(scales + b), zeros);
    for (int r = 0; r < kRows; ++r) totals[r] = hn::NegMulAdd(offset, load(sums + r * w.blocks + b), totals[r]);
  };
  int64_t b = 0;
  for (; b + kLanes <= w.blocks; b += kLanes) {
    subtract(b, static_cast<size_t>(kLanes), [&](const float* from) HWY_ATTR { return hn::LoadU(d, from); });
  }
  const auto left = static_cast<size_t>(w.blocks - b);
  if (left == 0) return;
  subtract(b, left, [&](const float* from) HWY_ATTR {
    float last[kLanes] = {};
    std::copy_n(from, left, last);
    return hn::LoadU(d, last);
  });
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
