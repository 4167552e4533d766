#pragma once

// C++ types of ONNX elements that the language lacks. Each is a trivially copyable struct over its bits, converts to float
// exactly and from float with round-to-nearest-even; overflow follows each class's comment.

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>

#include "tessera/element_type.h"

namespace tessera {

/// `value` as a float whose last bit also stands for everything below it (round to odd), so that rounding the result once
/// more, to a type of less precision, rounds as if it came from `value` directly.
inline float RoundToOdd(double value) noexcept {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value || std::isinf(value)) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1u);
}

/// IEEE 754 binary16; overflow gives infinity.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) noexcept : bits(FromFloat(value)) {}
  explicit Float16(double value) noexcept : bits(FromFloat(RoundToOdd(value))) {}
  static constexpr Float16 FromBits(uint16_t bits) noexcept {
    Float16 half;
    half.bits = bits;
    return half;
  }
  operator float() const noexcept {  // NOLINT: exact
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    // Scaling by 2^112 re-biases normals and subnormals alike, exactly.
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f));
  }

 private:
  static uint16_t FromFloat(float value) noexcept {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint16_t sign = static_cast<uint16_t>((word >> 16) & 0x8000u);
    const uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds past 65504
    if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 lets the FPU round at bit 2^-24
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    }
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
  }
};

/// The upper half of a binary32; overflow gives infinity.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) noexcept : bits(FromFloat(value)) {}
  explicit BFloat16(double value) noexcept : bits(FromFloat(RoundToOdd(value))) {}
  static constexpr BFloat16 FromBits(uint16_t bits) noexcept {
    BFloat16 half;
    half.bits = bits;
    return half;
  }
  operator float() const noexcept { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }  // NOLINT: exact

 private:
  static uint16_t FromFloat(float value) noexcept {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((word >> 16) | 0x40u);
    return static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
};

/// How a small float spells what is not finite.
enum class SmallFloatRange {
  kIeee,          // infinities and NaNs in the highest exponent
  kFiniteNan,     // "FN": no infinities, all bits set is NaN
  kUnsignedZero,  // "FNUZ": no infinities, no negative zero; its code is the one NaN
  kFinite,        // neither: NaN becomes zero of the other sign (as in ml_dtypes), overflow the largest value
};

/// A float of at most 8 bits, in the low bits of a byte. Conversion from float saturates at the largest finite value;
/// FromFloat with `saturate` false gives infinity instead, or NaN where there is none.
template <int kExponentBits, int kMantissaBits, int kBias, SmallFloatRange kRange>
struct SmallFloat {
  uint8_t bits = 0;

  static constexpr int kBits = 1 + kExponentBits + kMantissaBits;
  static constexpr uint8_t kSignBit = uint8_t{1} << (kBits - 1);
  static constexpr uint8_t kMagnitudeMask = kSignBit - 1;
  /// Code of the largest finite value.
  static constexpr uint8_t kMax = kRange == SmallFloatRange::kIeee        ? kMagnitudeMask - (1 << kMantissaBits)
                                  : kRange == SmallFloatRange::kFiniteNan ? kMagnitudeMask - 1
                                                                          : kMagnitudeMask;

  SmallFloat() = default;
  explicit SmallFloat(float value) noexcept : bits(Encode(value, true)) {}
  explicit SmallFloat(double value) noexcept : bits(Encode(RoundToOdd(value), true)) {}
  static SmallFloat FromFloat(float value, bool saturate) noexcept { return FromBits(Encode(value, saturate)); }
  static constexpr SmallFloat FromBits(uint8_t bits) noexcept {
    SmallFloat small;
    small.bits = bits;
    return small;
  }
  operator float() const noexcept {  // NOLINT: exact
    const uint32_t sign = (bits & kSignBit) != 0 ? 0x80000000u : 0u;
    const uint32_t magnitude = bits & kMagnitudeMask;
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    if constexpr (kRange == SmallFloatRange::kUnsignedZero) {
      if (bits == kSignBit) return kNan;
    } else if constexpr (kRange == SmallFloatRange::kFiniteNan) {
      if (magnitude == kMagnitudeMask) return sign != 0 ? -kNan : kNan;
    } else if constexpr (kRange == SmallFloatRange::kIeee) {
      if (magnitude > kMax) {
        return std::bit_cast<float>(sign | 0x7f800000u |
                                    ((magnitude & ((1u << kMantissaBits) - 1)) << (23 - kMantissaBits)));
      }
    }
    // 2^(127 - bias) re-biases normals and subnormals alike.
    constexpr float kScale = std::bit_cast<float>(static_cast<uint32_t>(254 - kBias) << 23);
    const float scaled = std::bit_cast<float>(magnitude << (23 - kMantissaBits)) * kScale;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
  }

 private:
  static uint8_t Encode(float value, bool saturate) noexcept {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint8_t sign = (word >> 31) != 0 ? kSignBit : uint8_t{0};
    const uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      if constexpr (kRange == SmallFloatRange::kIeee) return sign | (kMax + 1) | (1 << (kMantissaBits - 1));
      if constexpr (kRange == SmallFloatRange::kFiniteNan) return sign | kMagnitudeMask;
      return kRange == SmallFloatRange::kFinite ? sign ^ kSignBit : kSignBit;
    }
    uint32_t code;
    constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(128 - kBias) << 23;
    if (magnitude < kSmallestNormal) {  // subnormal: the FPU rounds the sum at the type's last bit
      constexpr uint32_t kMagic = static_cast<uint32_t>(128 - kBias - kMantissaBits + 23) << 23;
      code = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic)) - kMagic;
    } else {
      constexpr int kShift = 23 - kMantissaBits;
      const uint32_t rounded = magnitude + ((1u << (kShift - 1)) - 1) + ((magnitude >> kShift) & 1u);
      code = (rounded >> kShift) - (static_cast<uint32_t>(127 - kBias) << kMantissaBits);
    }
    if (code > kMax) {
      if (saturate || kRange == SmallFloatRange::kFinite) return sign | kMax;
      if constexpr (kRange == SmallFloatRange::kIeee) return sign | (kMax + 1);
      if constexpr (kRange == SmallFloatRange::kFiniteNan) return sign | kMagnitudeMask;
      return kSignBit;
    }
    if (kRange == SmallFloatRange::kUnsignedZero && code == 0) return 0;
    return static_cast<uint8_t>(sign | code);
  }
};

using Float8E4M3FN = SmallFloat<4, 3, 7, SmallFloatRange::kFiniteNan>;
using Float8E4M3FNUZ = SmallFloat<4, 3, 8, SmallFloatRange::kUnsignedZero>;
using Float8E5M2 = SmallFloat<5, 2, 15, SmallFloatRange::kIeee>;
using Float8E5M2FNUZ = SmallFloat<5, 2, 16, SmallFloatRange::kUnsignedZero>;
/// One value; tensors hold two in a byte (providers/cpu/engine/packed.h).
using Float4E2M1 = SmallFloat<2, 1, 1, SmallFloatRange::kFinite>;
using Float6E2M3 = SmallFloat<2, 3, 1, SmallFloatRange::kFinite>;
using Float6E3M2 = SmallFloat<3, 2, 3, SmallFloatRange::kFinite>;

/// How a value between two powers of two becomes one.
enum class ScaleRounding { kUp, kDown, kNearest };

/// A power of two from 2^-127 to 2^127, or NaN: the scale of a block in microscaling formats. The sign is dropped.
struct Float8E8M0 {
  uint8_t bits = 0;

  Float8E8M0() = default;
  explicit Float8E8M0(float value) noexcept : bits(Encode(value, true, ScaleRounding::kUp)) {}
  explicit Float8E8M0(double value) noexcept : Float8E8M0(RoundToOdd(value)) {}
  static Float8E8M0 FromFloat(float value, bool saturate, ScaleRounding rounding) noexcept {
    return FromBits(Encode(value, saturate, rounding));
  }
  static constexpr Float8E8M0 FromBits(uint8_t bits) noexcept {
    Float8E8M0 scale;
    scale.bits = bits;
    return scale;
  }
  operator float() const noexcept {  // NOLINT: exact
    if (bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
    return std::bit_cast<float>(bits == 0 ? 0x00400000u : static_cast<uint32_t>(bits) << 23);
  }

 private:
  static uint8_t Encode(float value, bool saturate, ScaleRounding rounding) noexcept {
    const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
    const uint32_t exponent = magnitude >> 23;
    const uint32_t fraction = magnitude & 0x7fffffu;
    if (exponent == 0xff) return 0xff;
    const bool up = rounding == ScaleRounding::kUp        ? fraction != 0
                    : rounding == ScaleRounding::kNearest ? fraction > 0x400000u || (fraction == 0x400000u && exponent > 0)
                                                          : false;
    if (up && exponent == 0xfe && saturate) return 0xfe;
    return static_cast<uint8_t>(exponent + (up ? 1 : 0));
  }
};

/// ONNX's type of elements that C++ has as T; kUndefined of others.
template <class T>
inline constexpr ElementType ElementTypeOf = ElementType::kUndefined;
template <>
inline constexpr ElementType ElementTypeOf<float> = ElementType::kFloat;
template <>
inline constexpr ElementType ElementTypeOf<double> = ElementType::kDouble;
template <>
inline constexpr ElementType ElementTypeOf<uint8_t> = ElementType::kUInt8;
template <>
inline constexpr ElementType ElementTypeOf<int8_t> = ElementType::kInt8;
template <>
inline constexpr ElementType ElementTypeOf<uint16_t> = ElementType::kUInt16;
template <>
inline constexpr ElementType ElementTypeOf<int16_t> = ElementType::kInt16;
template <>
inline constexpr ElementType ElementTypeOf<uint32_t> = ElementType::kUInt32;
template <>
inline constexpr ElementType ElementTypeOf<int32_t> = ElementType::kInt32;
template <>
inline constexpr ElementType ElementTypeOf<uint64_t> = ElementType::kUInt64;
template <>
inline constexpr ElementType ElementTypeOf<int64_t> = ElementType::kInt64;
template <>
inline constexpr ElementType ElementTypeOf<bool> = ElementType::kBool;
template <>
inline constexpr ElementType ElementTypeOf<std::string> = ElementType::kString;
template <>
inline constexpr ElementType ElementTypeOf<Float16> = ElementType::kFloat16;
template <>
inline constexpr ElementType ElementTypeOf<BFloat16> = ElementType::kBFloat16;
template <>
inline constexpr ElementType ElementTypeOf<std::complex<float>> = ElementType::kComplex64;
template <>
inline constexpr ElementType ElementTypeOf<std::complex<double>> = ElementType::kComplex128;
template <>
inline constexpr ElementType ElementTypeOf<Float8E4M3FN> = ElementType::kFloat8E4M3FN;
template <>
inline constexpr ElementType ElementTypeOf<Float8E4M3FNUZ> = ElementType::kFloat8E4M3FNUZ;
template <>
inline constexpr ElementType ElementTypeOf<Float8E5M2> = ElementType::kFloat8E5M2;
template <>
inline constexpr ElementType ElementTypeOf<Float8E5M2FNUZ> = ElementType::kFloat8E5M2FNUZ;
template <>
inline constexpr ElementType ElementTypeOf<Float8E8M0> = ElementType::kFloat8E8M0;
template <>
inline constexpr ElementType ElementTypeOf<Float6E2M3> = ElementType::kFloat6E2M3;
template <>
inline constexpr ElementType ElementTypeOf<Float6E3M2> = ElementType::kFloat6E3M2;
template <>
inline constexpr ElementType ElementTypeOf<Float4E2M1> = ElementType::kFloat4E2M1;

}  // namespace tessera
