// Quotients, those of integers truncated: what Div and Mod share. Included once per target after hwy/highway.h.

#if defined(TESSERA_QUOTIENT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_QUOTIENT_INL_H
#undef TESSERA_QUOTIENT_INL_H
#else
#define TESSERA_QUOTIENT_INL_H
#endif

#include <bit>
#include <cstdint>
#include <type_traits>

#include "cpu/engine/elementwise.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

/// 0 where an integer is divided by 0, and the smallest one divided by -1 wraps. Loops of it are vectorized below 64 bits.
template <class T>
T Quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else if constexpr (sizeof(T) < 8) {
    // The floating-point quotient of such integers never rounds up to the next integer.
    using F = std::conditional_t<(sizeof(T) < 4), float, double>;
    using Wide = std::conditional_t<(sizeof(T) < 4) || std::is_signed_v<T>, int32_t, int64_t>;
    const bool special = b == T(0) || b == static_cast<T>(-1);
    const T divisor = special ? T(1) : b;
    const T quotient = static_cast<T>(static_cast<Wide>(static_cast<F>(a) / static_cast<F>(divisor)));
    if constexpr (std::is_signed_v<T>) {
      const T negated = static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(a));
      return b == T(0) ? T(0) : b == T(-1) ? negated : quotient;
    } else {
      return b == T(0) ? T(0) : b == static_cast<T>(-1) ? static_cast<T>(a == b) : quotient;
    }
  } else {
    if (b == T(0)) return T(0);
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(a));
    }
    return static_cast<T>(a / b);
  }
}

/// Division of many numbers by one: a product with its reciprocal, exact for every number (Granlund and Montgomery,
/// "Division by invariant integers using multiplication").
class InvariantDivisor {
 public:
  /// Whether a number of `count` divisions is worth finding the reciprocal, and there is one.
  static bool Suits(int64_t divisor, int64_t count) { return count >= 64 && (divisor < -1 || divisor > 1); }

  explicit InvariantDivisor(int64_t divisor) : sign_(divisor >> 63) {
    const uint64_t size = (static_cast<uint64_t>(divisor) ^ static_cast<uint64_t>(sign_)) - static_cast<uint64_t>(sign_);
    const int bits = 64 - std::countl_zero(size - 1);
    shift_ = bits - 1;
    // The reciprocal less 2^64.
    factor_ = static_cast<int64_t>(static_cast<uint64_t>((static_cast<unsigned __int128>(1) << (63 + bits)) / size + 1));
  }

  int64_t Divide(int64_t n) const {
    const auto high = static_cast<int64_t>((static_cast<__int128>(factor_) * n) >> 64);
    const int64_t quotient = ((n + high) >> shift_) - (n >> 63);
    return (quotient ^ sign_) - sign_;
  }

 private:
  int64_t sign_;
  int64_t factor_;
  int shift_;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#endif  // once per target
