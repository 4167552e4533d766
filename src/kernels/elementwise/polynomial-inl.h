// What the elementary functions of math-inl.h are made of, on Highway vectors of float and double.

#if defined(TESSERA_SIMD_POLYNOMIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_POLYNOMIAL_INL_H_
#undef TESSERA_SIMD_POLYNOMIAL_INL_H_
#else
#define TESSERA_SIMD_POLYNOMIAL_INL_H_
#endif

#include <cstddef>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace vmath {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using TOf = hn::TFromD<D>;
template <class D>
using VOf = hn::Vec<D>;
template <class D>
inline constexpr bool kIsFloat = std::is_same_v<TOf<D>, float>;

/// Chooses between the constants of the two types.
template <class D>
HWY_INLINE VOf<D> Const(D d, float f, double g) {
  if constexpr (kIsFloat<D>) {
    return hn::Set(d, f);
  } else {
    return hn::Set(d, g);
  }
}

/// f on every lane, one after the other.
template <class D, class V, class F>
HWY_NOINLINE V PerLane(D d, V x, F f) {
  HWY_ALIGN TOf<D> lanes[HWY_MAX_BYTES / sizeof(TOf<D>)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = f(lanes[i]);
  return hn::Load(d, lanes);
}

/// c[0] + c[1] x + c[2] x^2 + ...
template <class D, class V, class T, size_t kCount>
HWY_INLINE V Polynomial(D d, V x, const T (&c)[kCount]) {
  V sum = hn::Set(d, c[kCount - 1]);
  for (size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

/// x P(x^2) / Q(x^2) within [-1, 1], NaN kept.
template <class D, class V, class T, size_t kP, size_t kQ>
HWY_INLINE V OddRatio(D d, V x, const T (&p)[kP], const T (&q)[kQ]) {
  const V square = hn::Mul(x, x);
  const V y = hn::Div(hn::Mul(x, Polynomial(d, square, p)), Polynomial(d, square, q));
  return hn::Max(hn::Set(d, T(-1)), hn::Min(hn::Set(d, T(1)), y));
}

}  // namespace vmath
}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#endif  // toggle
