#include "kernels/elementwise/convert.h"

#include <cmath>
#include <cstring>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/convert.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;  // NOLINT(misc-unused-alias-decls): the targets above SSE4 use it

// Highway's emulation of these conversions on SSE4 does not cover infinities and NaNs, hence loops over the bits there.
#if HWY_TARGET == HWY_SSE4
void Float16ToFloat(const Float16* HWY_RESTRICT from, float* HWY_RESTRICT to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t sign = static_cast<uint32_t>(from[i].bits & 0x8000u) << 16;
    const uint32_t magnitude = from[i].bits & 0x7fffu;
    const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
    const uint32_t special = 0x7f800000u | (magnitude << 13);
    to[i] = std::bit_cast<float>(sign | (magnitude >= 0x7c00u ? special : finite));
  }
}
void FloatToFloat16(const float* HWY_RESTRICT from, Float16* HWY_RESTRICT to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t word = std::bit_cast<uint32_t>(from[i]);
    const uint32_t sign = (word >> 16) & 0x8000u;
    const uint32_t magnitude = word & 0x7fffffffu;
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    uint32_t code = (rounded >> 13) - (112u << 10);
    const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    code = magnitude < 0x38800000u ? small : code;
    code = magnitude >= 0x477ff000u ? 0x7c00u : code;
    code = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x1ffu) : code;
    to[i].bits = static_cast<uint16_t>(sign | code);
  }
}
#else
void Float16ToFloat(const Float16* HWY_RESTRICT from, float* HWY_RESTRICT to, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* source = reinterpret_cast<const hwy::float16_t*>(from);
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, source + i)), d, to + i);
  for (; i < count; ++i) to[i] = from[i];
}
void FloatToFloat16(const float* HWY_RESTRICT from, Float16* HWY_RESTRICT to, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* target = reinterpret_cast<hwy::float16_t*>(to);
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, from + i)), dh, target + i);
  for (; i < count; ++i) to[i] = Float16(from[i]);
}
#endif

void BFloat16ToFloat(const BFloat16* HWY_RESTRICT from, float* HWY_RESTRICT to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(static_cast<uint32_t>(from[i].bits) << 16);
}
void FloatToBFloat16(const float* HWY_RESTRICT from, BFloat16* HWY_RESTRICT to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t word = std::bit_cast<uint32_t>(from[i]);
    const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    const uint32_t nan = (word >> 16) | 0x40u;
    to[i].bits = static_cast<uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(Float16ToFloat);
HWY_EXPORT(FloatToFloat16);
HWY_EXPORT(BFloat16ToFloat);
HWY_EXPORT(FloatToBFloat16);

namespace {

/// The values of a one-byte type by bit pattern.
template <class T>
struct DecodeTable {
  float values[256];
  DecodeTable() {
    for (int code = 0; code < 256; ++code) {
      const float value = T::FromBits(static_cast<uint8_t>(code));
      // The one NaN of "FNUZ" types has the sign of its bits.
      values[code] = value != value ? std::copysign(value, code >= 128 ? -1.0f : 1.0f) : value;
    }
  }
};

template <class T>
void Decode(const T* from, float* to, int64_t count) {
  static const DecodeTable<T> table;
  for (int64_t i = 0; i < count; ++i) to[i] = table.values[from[i].bits];
}

template <class T>
void Encode(const float* from, T* to, int64_t count, bool saturate) {
  for (int64_t i = 0; i < count; ++i) to[i] = T::FromFloat(from[i], saturate);
}

}  // namespace

void ConvertToFloat(const Float16* from, float* to, int64_t count) {
  HWY_DYNAMIC_DISPATCH(Float16ToFloat)(from, to, count);
}
void ConvertToFloat(const BFloat16* from, float* to, int64_t count) {
  HWY_DYNAMIC_DISPATCH(BFloat16ToFloat)(from, to, count);
}
void ConvertFromFloat(const float* from, Float16* to, int64_t count) {
  HWY_DYNAMIC_DISPATCH(FloatToFloat16)(from, to, count);
}
void ConvertFromFloat(const float* from, BFloat16* to, int64_t count) {
  HWY_DYNAMIC_DISPATCH(FloatToBFloat16)(from, to, count);
}
void ConvertToFloat(const float* from, float* to, int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}
void ConvertFromFloat(const float* from, float* to, int64_t count) { ConvertToFloat(from, to, count); }

void ConvertToFloat(const Float8E4M3FN* from, float* to, int64_t count) { Decode(from, to, count); }
void ConvertToFloat(const Float8E4M3FNUZ* from, float* to, int64_t count) { Decode(from, to, count); }
void ConvertToFloat(const Float8E5M2* from, float* to, int64_t count) { Decode(from, to, count); }
void ConvertToFloat(const Float8E5M2FNUZ* from, float* to, int64_t count) { Decode(from, to, count); }
void ConvertToFloat(const Float8E8M0* from, float* to, int64_t count) { Decode(from, to, count); }
void ConvertToFloat(const Float4E2M1* from, float* to, int64_t count) { Decode(from, to, count); }
void ConvertToFloat(const Float6E2M3* from, float* to, int64_t count) { Decode(from, to, count); }
void ConvertToFloat(const Float6E3M2* from, float* to, int64_t count) { Decode(from, to, count); }
void ConvertFromFloat(const float* from, Float8E4M3FN* to, int64_t count, bool saturate) {
  Encode(from, to, count, saturate);
}
void ConvertFromFloat(const float* from, Float8E4M3FNUZ* to, int64_t count, bool saturate) {
  Encode(from, to, count, saturate);
}
void ConvertFromFloat(const float* from, Float8E5M2* to, int64_t count, bool saturate) {
  Encode(from, to, count, saturate);
}
void ConvertFromFloat(const float* from, Float8E5M2FNUZ* to, int64_t count, bool saturate) {
  Encode(from, to, count, saturate);
}
void ConvertFromFloat(const float* from, Float8E8M0* to, int64_t count, bool saturate, ScaleRounding rounding) {
  for (int64_t i = 0; i < count; ++i) to[i] = Float8E8M0::FromFloat(from[i], saturate, rounding);
}
void ConvertFromFloat(const float* from, Float4E2M1* to, int64_t count, bool saturate) {
  Encode(from, to, count, saturate);
}
void ConvertFromFloat(const float* from, Float6E2M3* to, int64_t count, bool saturate) {
  Encode(from, to, count, saturate);
}
void ConvertFromFloat(const float* from, Float6E3M2* to, int64_t count, bool saturate) {
  Encode(from, to, count, saturate);
}

}  // namespace tessera::cpu
#endif
