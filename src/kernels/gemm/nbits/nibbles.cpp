#include "kernels/gemm/nbits/nibbles.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/nbits/nibbles.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kBytes = 16;  // spread at a time
constexpr int kZero = 8;

/// The 32 values of 4 bits in 16 bytes, each in a byte of its own.
HWY_INLINE void Spread(const uint8_t* packed, uint8_t* quantized) {
  const hn::FixedTag<uint8_t, kBytes> d;
  const hn::FixedTag<uint16_t, kBytes / 2> pairs;  // the least that shifts
  const auto bytes = hn::LoadU(d, packed), low = hn::And(bytes, hn::Set(d, 15));
  const auto odd = hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(pairs, bytes))), hn::Set(d, 15));
  hn::StoreU(hn::InterleaveLower(d, low, odd), d, quantized);
  hn::StoreU(hn::InterleaveUpper(d, low, odd), d, quantized + kBytes);
}

/// Whole vectors of bytes; returns the number of values done.
template <bool kAdvances>
HWY_INLINE int64_t DequantizeVectors(const uint8_t* packed, const float* scales, float* y, int64_t count) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint8_t, decltype(df)> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto zero = hn::Set(di, kZero);
  const auto shared = hn::Set(df, kAdvances ? 0.0f : *scales);
  HWY_ALIGN uint8_t quantized[2 * kBytes];
  int64_t i = 0;
  for (; i + 2 * kBytes <= count; i += 2 * kBytes) {
    Spread(packed + i / 2, quantized);
    for (int64_t k = 0; k < 2 * kBytes; k += lanes) {
      const auto number = hn::ConvertTo(df, hn::Sub(hn::PromoteTo(di, hn::LoadU(d8, quantized + k)), zero));
      const auto scale = kAdvances ? hn::LoadU(df, scales + i + k) : shared;
      hn::StoreU(hn::Mul(number, scale), df, y + i + k);
    }
  }
  return i;
}

}  // namespace

void Dequantize4(const uint8_t* packed, const float* scales, int64_t step, float* y, int64_t count) {
  int64_t i =
      step != 0 ? DequantizeVectors<true>(packed, scales, y, count) : DequantizeVectors<false>(packed, scales, y, count);
  for (; i < count; ++i) {
    const int value = i % 2 == 0 ? packed[i / 2] & 15 : packed[i / 2] >> 4;
    y[i] = static_cast<float>(value - kZero) * scales[i * step];
  }
}

void Pack4(const uint8_t* quantized, int64_t count, uint8_t* packed) {
  const hn::FixedTag<uint16_t, kBytes / 2> d;
  const hn::FixedTag<uint8_t, kBytes / 2> half;
  int64_t i = 0;
  for (; i + kBytes <= count; i += kBytes) {
    const auto pairs = hn::LoadU(d, reinterpret_cast<const uint16_t*>(quantized + i));
    const auto joined = hn::And(hn::Or(pairs, hn::ShiftRight<4>(pairs)), hn::Set(d, 0xff));
    hn::StoreU(hn::DemoteTo(half, hn::BitCast(hn::RebindToSigned<decltype(d)>(), joined)), half, packed + i / 2);
  }
  for (; i < count; i += 2)
    packed[i / 2] = static_cast<uint8_t>(quantized[i] | (i + 1 < count ? quantized[i + 1] : kZero) << 4);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(Dequantize4);
HWY_EXPORT(Pack4);
void DequantizeNibbles(const uint8_t* packed, const float* scales, int64_t step, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(Dequantize4)(packed, scales, step, y, count);
}
void PackNibbles(const uint8_t* quantized, int64_t count, uint8_t* packed) {
  HWY_DYNAMIC_DISPATCH(Pack4)(quantized, count, packed);
}
}  // namespace tessera::cpu
#endif
