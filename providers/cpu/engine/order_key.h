#pragma once

// Unsigned integers that order as the elements they stand for: -0 and 0 have the same key, every NaN has the largest.

#include <bit>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "cpu/engine/element.h"
#include "cpu/types.h"

namespace tessera::cpu {

struct Key128 {
  uint64_t high, low;
  auto operator<=>(const Key128&) const = default;
};

template <class Bits, class Float>
Bits OrderKeyOfFloat(Float value) noexcept {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  if (value != value) return ~Bits{0};
  const Bits bits = std::bit_cast<Bits>(value + Float{0});  // -0 + 0 is 0
  return (bits & kSign) != 0 ? static_cast<Bits>(~bits) : bits | kSign;
}

/// uint32_t, or for wider elements uint64_t and Key128. Complex numbers order by real part, then by imaginary part.
template <class T>
auto OrderKey(const T& value) noexcept {
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    if (value.real() != value.real() || value.imag() != value.imag()) return ~uint64_t{0};
    return uint64_t{OrderKeyOfFloat<uint32_t>(value.real())} << 32 | OrderKeyOfFloat<uint32_t>(value.imag());
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    if (value.real() != value.real() || value.imag() != value.imag()) return Key128{~uint64_t{0}, ~uint64_t{0}};
    return Key128{OrderKeyOfFloat<uint64_t>(value.real()), OrderKeyOfFloat<uint64_t>(value.imag())};
  } else if constexpr (std::is_same_v<T, double>) {
    return OrderKeyOfFloat<uint64_t>(value);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    return static_cast<uint64_t>(value) ^ (std::is_signed_v<T> ? uint64_t{1} << 63 : 0);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<uint32_t>(value) ^ (std::is_signed_v<T> ? uint32_t{1} << 31 : 0);
  } else {
    return OrderKeyOfFloat<uint32_t>(static_cast<float>(value));
  }
}

/// Every element type but strings, as memory of one element per byte where the type is packed: see on_bytes.h.
using OrderedTypes = TypeList<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                              uint32_t, uint64_t, bool, std::complex<float>, std::complex<double>, Float8E4M3FN,
                              Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0, Float6E2M3, Float6E3M2, Float4E2M1>;

/// The type to read elements as: 4- and 2-bit integers lie in bytes, extended.
inline ElementType OrderedTypeOf(ElementType type) noexcept {
  switch (type) {
    case ElementType::kInt4:
    case ElementType::kInt2: return ElementType::kInt8;
    case ElementType::kUInt4:
    case ElementType::kUInt2: return ElementType::kUInt8;
    default: return type;
  }
}

}  // namespace tessera::cpu
