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

/// IEEE 754 binary16; overflow gives infinity.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) noexcept : bits(FromFloat(value)) {}
  explicit Float16(double value) noexcept : bits(FromFloat(static_cast<float>(value))) {}
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
  explicit BFloat16(double value) noexcept : bits(FromFloat(static_cast<float>(value))) {}
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

template <class T>
inline constexpr ElementType ElementTypeOf = ElementType::kUndefined;
template <> inline constexpr ElementType ElementTypeOf<float> = ElementType::kFloat;
template <> inline constexpr ElementType ElementTypeOf<double> = ElementType::kDouble;
template <> inline constexpr ElementType ElementTypeOf<uint8_t> = ElementType::kUInt8;
template <> inline constexpr ElementType ElementTypeOf<int8_t> = ElementType::kInt8;
template <> inline constexpr ElementType ElementTypeOf<uint16_t> = ElementType::kUInt16;
template <> inline constexpr ElementType ElementTypeOf<int16_t> = ElementType::kInt16;
template <> inline constexpr ElementType ElementTypeOf<uint32_t> = ElementType::kUInt32;
template <> inline constexpr ElementType ElementTypeOf<int32_t> = ElementType::kInt32;
template <> inline constexpr ElementType ElementTypeOf<uint64_t> = ElementType::kUInt64;
template <> inline constexpr ElementType ElementTypeOf<int64_t> = ElementType::kInt64;
template <> inline constexpr ElementType ElementTypeOf<bool> = ElementType::kBool;
template <> inline constexpr ElementType ElementTypeOf<std::string> = ElementType::kString;
template <> inline constexpr ElementType ElementTypeOf<Float16> = ElementType::kFloat16;
template <> inline constexpr ElementType ElementTypeOf<BFloat16> = ElementType::kBFloat16;
template <> inline constexpr ElementType ElementTypeOf<std::complex<float>> = ElementType::kComplex64;
template <> inline constexpr ElementType ElementTypeOf<std::complex<double>> = ElementType::kComplex128;

}  // namespace tessera
