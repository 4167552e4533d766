// Functions of one element, for rows that the compiler vectorizes. Included once per target after hwy/highway.h.

#if defined(TESSERA_SCALAR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SCALAR_INL_H
#undef TESSERA_SCALAR_INL_H
#else
#define TESSERA_SCALAR_INL_H
#endif

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "cpu/engine/elementwise.h"
#include "kernels/elementwise/truncate-inl.h"
#include "tessera/numeric.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class T>
T Abs(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
  else if constexpr (std::is_unsigned_v<T>) return x;
  else return x < 0 ? static_cast<T>(-static_cast<Wrapping<T>>(x)) : x;
}

// On the bits where they are there: IEEE's NaNs lie above infinity where the sign is masked away. Signed comparisons are
// single instructions.
template <class T>
bool IsNaN(T x) {
  return x != x;
}
inline bool IsNaN(Float16 x) { return static_cast<int16_t>(x.bits & 0x7fff) > 0x7c00; }
inline bool IsNaN(BFloat16 x) { return static_cast<int16_t>(x.bits & 0x7fff) > 0x7f80; }
inline bool IsNaN(Float8E5M2 x) { return static_cast<int8_t>(x.bits & 0x7f) > 0x7c; }
inline bool IsNaN(Float8E4M3FN x) { return (x.bits & 0x7f) == 0x7f; }
inline bool IsNaN(Float8E4M3FNUZ x) { return x.bits == 0x80; }
inline bool IsNaN(Float8E5M2FNUZ x) { return x.bits == 0x80; }

/// A NaN on either side is the result.
template <class T>
T Larger(T a, T b) {
  const T larger = a > b ? a : b;
  return IsNaN(a) ? a : larger;
}
template <class T>
T Smaller(T a, T b) {
  const T smaller = a < b ? a : b;
  return IsNaN(a) ? a : smaller;
}

template <class T>
T Sign(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    const T sign = static_cast<T>(x > 0) - static_cast<T>(x < 0);
    return IsNaN(x) ? x : sign;
  } else {
    return static_cast<T>((x > 0) - (x < 0));
  }
}

/// Between 0 and 1, or NaN.
template <class T>
T Bounded(T x) {
  x = x > T(1) ? T(1) : x;
  return x < T(0) ? T(0) : x;
}

/// On the bits of a 16-bit float: those from just below -0 to -infinity become 0.
template <class T>
T HalfRelu(T x) {
  constexpr uint16_t kInfinity = std::is_same_v<T, Float16> ? 0x7c00 : 0x7f80;
  return T::FromBits(static_cast<uint16_t>(x.bits - 0x8001u) <= kInfinity - 1u ? 0 : x.bits);
}

/// Integers are compared and shifted as doubles.
template <class T, class Real>
T Shrink(T x, Real lambda, Real bias) {
  const Real value = static_cast<Real>(x);
  Real y = value > lambda ? value - bias : Real(0);
  y = value < -lambda ? value + bias : y;
  if constexpr (std::is_floating_point_v<T>) return y;
  else return TruncateTo<T>(y);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#endif  // once per target
