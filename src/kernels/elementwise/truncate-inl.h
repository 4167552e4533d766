// Real numbers as integers. Included once per target after hwy/highway.h.

#if defined(TESSERA_TRUNCATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_TRUNCATE_INL_H
#undef TESSERA_TRUNCATE_INL_H
#else
#define TESSERA_TRUNCATE_INL_H
#endif

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Without the fraction; the smallest integer where the value does not fit, or is NaN.
template <class I, class F>
inline I Truncate(F x) {
  constexpr F kLimit = static_cast<F>(std::numeric_limits<I>::max() / 2 + 1) * 2;
  return std::abs(x) < kLimit ? static_cast<I>(x) : std::numeric_limits<I>::min();
}

/// As Cast does: what does not fit goes through int32 (to integers of up to 32 bits, uint32 excepted) or int64, and loses
/// its high bits.
template <class To, class From>
inline To TruncateTo(From x) {
  if constexpr (sizeof(To) < 4 || std::is_same_v<To, int32_t>) {
    return static_cast<To>(Truncate<int32_t>(x));
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr From kHalf = static_cast<From>(0x1p63);
    const bool high = x >= kHalf;
    return static_cast<uint64_t>(Truncate<int64_t>(high ? x - kHalf : x)) ^ (high ? uint64_t{1} << 63 : 0);
  } else {
    return static_cast<To>(Truncate<int64_t>(x));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#endif  // once per target
