// Trigonometric functions of math-inl.h: of float on vectors, of double lane by lane.

#if defined(TESSERA_SIMD_TRIGONOMETRY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_TRIGONOMETRY_INL_H_
#undef TESSERA_SIMD_TRIGONOMETRY_INL_H_
#else
#define TESSERA_SIMD_TRIGONOMETRY_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "kernels/elementwise/polynomial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace vmath {

// Beyond it the reduction by parts of pi/2 loses bits; without FMA sooner.
#if HWY_TARGET == HWY_SSE4
inline constexpr float kTrigLimit = 8000.0f;
#else
inline constexpr float kTrigLimit = 30000.0f;
#endif

/// x = n pi/2 + r; returns the low bits of n.
template <class D, class V>
HWY_INLINE auto ReducePi2(D d, V x, V& r) {
  const hn::RebindToUnsigned<D> du;
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 0.636619772367581343f)));
#if HWY_TARGET == HWY_SSE4
  r = hn::NegMulAdd(n, hn::Set(d, 1.5703125f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 4.837512969970703125e-4f), r);
  r = hn::NegMulAdd(n, hn::Set(d, 7.54978995489188216e-8f), r);
#else
  r = hn::NegMulAdd(n, hn::Set(d, 1.57079601287841797f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 3.13916473e-07f), r);
  r = hn::NegMulAdd(n, hn::Set(d, 5.39030253e-15f), r);
#endif
  return hn::BitCast(du, hn::Add(n, hn::Set(d, 12582912.0f)));
}
template <class D, class V>
HWY_INLINE V SinPolynomial(D d, V r) {
  constexpr float kC[] = {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f};
  const V s = hn::Mul(r, r);
  return hn::MulAdd(hn::Mul(r, s), Polynomial(d, s, kC), r);
}
template <class D, class V>
HWY_INLINE V CosPolynomial(D d, V r) {
  constexpr float kC[] = {4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f};
  const V s = hn::Mul(r, r);
  const V high = hn::NegMulAdd(hn::Set(d, 0.5f), s, hn::Set(d, 1.0f));
  return hn::MulAdd(hn::Mul(s, s), Polynomial(d, s, kC), high);
}
template <class D, class V>
HWY_INLINE bool InTrigRange(D d, V x) {
  return hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, kTrigLimit)));
}

/// sin(x + quarter pi/2)
template <uint32_t kQuarter, class D, class V>
HWY_INLINE V SinShifted(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  V r;
  const auto n = hn::Add(ReducePi2(d, x, r), hn::Set(du, kQuarter));
  const auto odd = hn::RebindMask(d, hn::Ne(hn::And(n, hn::Set(du, 1u)), hn::Zero(du)));
  const auto sign = hn::ShiftLeft<30>(hn::And(n, hn::Set(du, 2u)));
  const V y = hn::IfThenElse(odd, CosPolynomial(d, r), SinPolynomial(d, r));
  return hn::BitCast(d, hn::Xor(hn::BitCast(du, y), sign));
}
template <class D, class V>
HWY_INLINE V Sin(D d, V x) {
  if constexpr (kIsFloat<D>) {
    if (HWY_LIKELY(InTrigRange(d, x))) return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, SinShifted<0>(d, x));
  }
  return PerLane(d, x, [](TOf<D> v) { return std::sin(v); });
}
template <class D, class V>
HWY_INLINE V Cos(D d, V x) {
  if constexpr (kIsFloat<D>) {
    if (HWY_LIKELY(InTrigRange(d, x))) return SinShifted<1>(d, x);
  }
  return PerLane(d, x, [](TOf<D> v) { return std::cos(v); });
}
template <class D, class V>
HWY_INLINE V Tan(D d, V x) {
  if constexpr (kIsFloat<D>) {
    if (HWY_LIKELY(InTrigRange(d, x))) {
      constexpr float kC[] = {3.33331568548e-1f, 1.33387994085e-1f, 5.34112807005e-2f,
                              2.44301354525e-2f, 3.11992232697e-3f, 9.38540185543e-3f};
      const hn::RebindToUnsigned<D> du;
      V r;
      const auto n = ReducePi2(d, x, r);
      const auto odd = hn::RebindMask(d, hn::Ne(hn::And(n, hn::Set(du, 1u)), hn::Zero(du)));
      const V s = hn::Mul(r, r);
      const V y = hn::MulAdd(hn::Mul(r, s), Polynomial(d, s, kC), r);
      const V z = hn::IfThenElse(odd, hn::Div(hn::Set(d, -1.0f), y), y);
      return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, z);
    }
  }
  return PerLane(d, x, [](TOf<D> v) { return std::tan(v); });
}

/// asin on [0, 0.5]; `square` is a^2.
template <class D, class V>
HWY_INLINE V AsinPolynomial(D d, V a, V square) {
  constexpr float kC[] = {1.6666752422e-1f, 7.4953002686e-2f, 4.5470025998e-2f, 2.4181311049e-2f, 4.2163199048e-2f};
  return hn::MulAdd(hn::Mul(a, square), Polynomial(d, square, kC), a);
}
template <class D, class V>
HWY_INLINE V Asin(D d, V x) {
  if constexpr (kIsFloat<D>) {
    const V half = hn::Set(d, 0.5f);
    const V a = hn::Abs(x);
    const auto large = hn::Gt(a, half);
    const V square = hn::IfThenElse(large, hn::NegMulAdd(half, a, half), hn::Mul(a, a));
    const V root = hn::IfThenElse(large, hn::Sqrt(square), a);  // NaN where |x| > 1
    const V p = AsinPolynomial(d, root, square);
    return hn::CopySign(hn::IfThenElse(large, hn::NegMulAdd(hn::Set(d, 2.0f), p, hn::Set(d, 1.57079632679f)), p), x);
  } else {
    return PerLane(d, x, [](double v) { return std::asin(v); });
  }
}
template <class D, class V>
HWY_INLINE V Acos(D d, V x) {
  if constexpr (kIsFloat<D>) {
    const V half = hn::Set(d, 0.5f);
    const V a = hn::Abs(x);
    const auto large = hn::Gt(a, half);
    const V square = hn::IfThenElse(large, hn::NegMulAdd(half, a, half), hn::Mul(a, a));
    const V root = hn::IfThenElse(large, hn::Sqrt(square), x);
    const V p = AsinPolynomial(d, root, square);
    const V near = hn::Sub(hn::Set(d, 1.57079632679f), p);
    const V twice = hn::Add(p, p);
    const V far = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 3.14159265359f), twice), twice);
    return hn::IfThenElse(large, far, near);
  } else {
    return PerLane(d, x, [](double v) { return std::acos(v); });
  }
}
template <class D, class V>
HWY_INLINE V Atan(D d, V x) {
  if constexpr (kIsFloat<D>) {
    constexpr float kC[] = {-3.33329491539e-1f, 1.99777106478e-1f, -1.38776856032e-1f, 8.05374449538e-2f};
    const V one = hn::Set(d, 1.0f);
    const V a = hn::Abs(x);
    const auto large = hn::Gt(a, hn::Set(d, 2.414213562373095f));
    const auto middle = hn::Gt(a, hn::Set(d, 0.4142135623730950f));
    const V top = hn::IfThenElse(large, hn::Neg(one), hn::IfThenElse(middle, hn::Sub(a, one), a));
    const V bottom = hn::IfThenElse(large, a, hn::IfThenElse(middle, hn::Add(a, one), one));
    const V t = hn::Div(top, bottom);
    const V base =
        hn::IfThenElse(large, hn::Set(d, 1.57079632679f), hn::IfThenElseZero(middle, hn::Set(d, 0.785398163397f)));
    const V s = hn::Mul(t, t);
    return hn::CopySign(hn::Add(base, hn::MulAdd(hn::Mul(t, s), Polynomial(d, s, kC), t)), x);
  } else {
    return PerLane(d, x, [](double v) { return std::atan(v); });
  }
}

}  // namespace vmath
}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#endif  // toggle
