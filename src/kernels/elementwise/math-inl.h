// Elementary functions on Highway vectors of float and double, within a few ulp and exact at their edges (NaN, infinities,
// zeros, overflow, subnormals). Include it after hwy/highway.h in a file that foreach_target.h includes again.

#if defined(TESSERA_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_MATH_INL_H_
#undef TESSERA_SIMD_MATH_INL_H_
#else
#define TESSERA_SIMD_MATH_INL_H_
#endif

#include <cmath>
#include <limits>

#include "kernels/elementwise/polynomial-inl.h"
#include "kernels/elementwise/trigonometry-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace vmath {

/// 2^n for integral n in the normal range: n + bias lands in the low mantissa bits and moves up into the exponent.
template <class D, class V>
HWY_INLINE V Pow2(D d, V n) {
  if constexpr (kIsFloat<D>) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, hn::Add(n, hn::Set(d, 12582912.0f + 127.0f)))));
  } else {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, hn::Add(n, hn::Set(d, 6755399441055744.0 + 1023.0)))));
  }
}

/// x 2^n for integral n; rounded once where the result is subnormal, infinite where it is too large.
template <class D, class V>
HWY_INLINE V Scale(D d, V x, V n) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(V) == 64) {
    if constexpr (kIsFloat<D>) {
      return V{_mm512_scalef_ps(x.raw, n.raw)};
    } else {
      return V{_mm512_scalef_pd(x.raw, n.raw)};
    }
  }
#endif
  const V half = hn::Round(hn::Mul(n, hn::Set(d, TOf<D>(0.5))));
  return hn::Mul(hn::Mul(x, Pow2(d, half)), Pow2(d, hn::Sub(n, half)));
}

/// e^r - 1 - r on |r| <= ln(2)/2, divided by r^2.
template <class D, class V>
HWY_INLINE V ExpTail(D d, V r) {
  if constexpr (kIsFloat<D>) {
    constexpr float kC[] = {0.4999999340309965f, 0.1666651996940151f, 0.04166839585302644f, 0.00836879711376152f,
                            0.0013814431245383427f};
    return Polynomial(d, r, kC);
  } else {
    constexpr double kC[] = {1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,      1.0 / 720,       1.0 / 5040,
                             1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    return Polynomial(d, r, kC);
  }
}

/// x = n ln(2) + r.
template <class D, class V>
HWY_INLINE V ReduceLn2(D d, V x, V& n) {
  n = hn::Round(hn::Mul(x, Const(d, 1.44269504088896341f, 1.4426950408889634074)));
  // Both products of the high part are exact without FMA, too.
  const V r = hn::NegMulAdd(n, Const(d, 0.693359375f, 6.93147180369123816490e-01), x);
  return hn::NegMulAdd(n, Const(d, -2.12194440e-4f, 1.90821492927058770002e-10), r);
}

#if HWY_TARGET == HWY_AVX3
/// 2^(i / 16)
alignas(64) inline constexpr float kRoots[16] = {
    1.0f,        1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f, 1.24185777f, 1.29683959f, 1.35425556f,
    1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f, 1.68179286f, 1.75625217f, 1.8340081f,  1.91520655f};

/// ExpNormal with x = n ln(2) / 16 + r: the lanes of a register hold the roots, and a short r needs two multiplications
/// less.
template <class D, class V>
HWY_INLINE V ExpByRoots(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V magic = hn::Set(d, 12582912.0f), one = hn::Set(d, 1.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 16 * 1.44269504088896341f), magic);
  const V n = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f / 16), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f / 16), r);
  const V root{_mm512_permutexvar_ps(hn::BitCast(du, shifted).raw, hn::Load(d, kRoots).raw)};  // by the low four bits
  const V em = hn::Mul(hn::MulAdd(hn::MulAdd(r, hn::Set(d, 1.0f / 6), hn::Set(d, 0.5f)), r, one), r);
  const auto power = hn::And(hn::ShiftLeft<19>(hn::BitCast(du, shifted)), hn::Set(du, 0xff800000u));
  return hn::BitCast(d, hn::Add(hn::BitCast(du, hn::MulAdd(em, root, root)), power));
}
#endif

/// e^x for floats of at most 87 in magnitude: 2^n is an addition to the exponent. NaN stays.
template <class D, class V>
HWY_INLINE V ExpNormal(D d, V x) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(V) == 64) return ExpByRoots(d, x);
#endif
  const hn::RebindToUnsigned<D> du;
  const V magic = hn::Set(d, 12582912.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), magic);
  const V n = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  const V one = hn::Set(d, 1.0f);
  const V p = hn::MulAdd(hn::MulAdd(ExpTail(d, r), r, one), r, one);
  return hn::BitCast(d, hn::Add(hn::BitCast(du, p), hn::ShiftLeft<23>(hn::BitCast(du, shifted))));
}

template <class D, class V>
HWY_INLINE V Exp(D d, V x) {
  if constexpr (kIsFloat<D>) {
    if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, 87.0f))))) return ExpNormal(d, x);
  }
  // The operand order keeps NaN.
  x = hn::Min(Const(d, 89.0f, 710.0), hn::Max(Const(d, -104.0f, -746.0), x));
  V n;
  const V r = ReduceLn2(d, x, n);
  const V p = hn::Add(hn::MulAdd(hn::Mul(r, r), ExpTail(d, r), r), hn::Set(d, TOf<D>(1)));
  return Scale(d, p, n);
}

template <class D, class V>
HWY_INLINE V Expm1(D d, V x) {
  const V one = hn::Set(d, TOf<D>(1));
  x = hn::Min(Const(d, 89.0f, 710.0), hn::Max(Const(d, -25.0f, -40.0), x));
  V n;
  const V r = ReduceLn2(d, x, n);
  const V em = hn::MulAdd(hn::Mul(r, r), ExpTail(d, r), r);
  const V inverse = Pow2(d, hn::Neg(hn::Min(n, Const(d, 100.0f, 1000.0))));
  const V sum = hn::Add(em, hn::Sub(one, inverse));
  return Scale(d, sum, n);
}

/// Natural logarithm of positive, finite, normal x; `k` and `f` as in x = 2^k (1 + f).
template <class D, class V>
HWY_INLINE V LogOfNormal(D d, V x) {
  using T = TOf<D>;
  const hn::RebindToUnsigned<D> du;
  V k, f;
  if constexpr (kIsFloat<D>) {
    const auto bits = hn::Add(hn::BitCast(du, x), hn::Set(du, 0x3f800000u - 0x3f3504f3u));
    k = hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<23>(bits), hn::Set(du, 0x4b000000u))),
                hn::Set(d, 8388608.0f + 127.0f));
    f = hn::BitCast(d, hn::Add(hn::And(bits, hn::Set(du, 0x007fffffu)), hn::Set(du, 0x3f3504f3u)));
  } else {
    const auto bits = hn::Add(hn::BitCast(du, x), hn::Set(du, 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu));
    k = hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<52>(bits), hn::Set(du, 0x4330000000000000u))),
                hn::Set(d, 4503599627370496.0 + 1023.0));
    f = hn::BitCast(d, hn::Add(hn::And(bits, hn::Set(du, 0x000fffffffffffffu)), hn::Set(du, 0x3fe6a09e667f3bcdu)));
  }
  f = hn::Sub(f, hn::Set(d, T(1)));
  const V s = hn::Div(f, hn::Add(f, hn::Set(d, T(2))));
  const V z = hn::Mul(s, s);
  V tail;
  if constexpr (kIsFloat<D>) {
    constexpr float kC[] = {0.66666662693f, 0.40000972152f, 0.28498786688f, 0.24279078841f};
    tail = hn::Mul(z, Polynomial(d, z, kC));
  } else {
    constexpr double kC[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                             2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                             1.479819860511658591e-01};
    tail = hn::Mul(z, Polynomial(d, z, kC));
  }
  const V half_square = hn::Mul(hn::Set(d, T(0.5)), hn::Mul(f, f));
  const V low =
      hn::MulAdd(k, Const(d, 9.0580006145e-06f, 1.90821492927058770002e-10), hn::Mul(s, hn::Add(half_square, tail)));
  return hn::MulAdd(k, Const(d, 6.9313812256e-01f, 6.93147180369123816490e-01), hn::Sub(f, hn::Sub(half_square, low)));
}

template <class D, class V>
HWY_INLINE V Log(D d, V x) {
  using T = TOf<D>;
  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto subnormal = hn::Lt(x, hn::Set(d, std::numeric_limits<T>::min()));
  const V scaled = hn::IfThenElse(subnormal, hn::Mul(x, Const(d, 0x1p24f, 0x1p53)), x);
  V y = LogOfNormal(d, scaled);
  y = hn::Sub(y, hn::IfThenElseZero(subnormal, Const(d, 16.6355323334f, 36.7368005696771013991)));
  y = hn::IfThenElse(hn::Lt(x, infinity), y, x);  // infinity and NaN
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), y);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
}

/// log(1 + x) for x >= 0, NaN kept.
template <class D, class V>
HWY_INLINE V Log1pOfPositive(D d, V x) {
  using T = TOf<D>;
  const V one = hn::Set(d, T(1));
  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const V u = hn::Add(one, x);
  const V lost = hn::Sub(x, hn::Sub(u, one));
  const V y = hn::Add(LogOfNormal(d, u), hn::Div(lost, u));
  return hn::IfThenElse(hn::Lt(u, infinity), y, x);
}

template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  using T = TOf<D>;
  if constexpr (kIsFloat<D>) {
    // x P(x^2) / Q(x^2), minimax on [0, 9.02]; from there on it is 1.
    constexpr float kP[] = {1.0f, 0.13379749655723572f, 0.003494070842862129f, 2.0584033336490393e-05f,
                            1.3319744418538448e-08f};
    constexpr float kQ[] = {1.0f, 0.4671306610107422f, 0.025871213525533676f, 0.0003283150144852698f,
                            7.762314453430008e-07f};
    const V a = hn::Max(hn::Set(d, -9.02f), hn::Min(hn::Set(d, 9.02f), x));
    return OddRatio(d, a, kP, kQ);
  }
  const V a = hn::Min(Const(d, 10.0f, 22.0), hn::Abs(x));
  const V em = Expm1(d, hn::Add(a, a));
  return hn::CopySign(hn::Div(em, hn::Add(em, hn::Set(d, T(2)))), x);
}

/// 1 / (1 + e^-x)
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  using T = TOf<D>;
  const V one = hn::Set(d, T(1));
  if constexpr (kIsFloat<D>) {
    // As ExpNormal, a little shorter: 3 ulp are enough here.
    constexpr float kC[] = {
        1.0f, 1.0f, 0.499992311000824f, 0.16667114198207855f, 0.041890114545822144f, 0.008312525227665901f};
    const hn::RebindToUnsigned<D> du;
    const V magic = hn::Set(d, 12582912.0f);
    const V bounded = hn::Max(hn::Set(d, -87.0f), hn::Min(hn::Set(d, 40.0f), x));
    const V shifted = hn::MulAdd(bounded, hn::Set(d, 1.44269504088896341f), magic);
    const V r = hn::NegMulAdd(hn::Sub(shifted, magic), hn::Set(d, 0.693147180559945f), bounded);
    const V p = Polynomial(d, r, kC);
    const V e = hn::BitCast(d, hn::Add(hn::BitCast(du, p), hn::ShiftLeft<23>(hn::BitCast(du, shifted))));
    return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), hn::Div(e, hn::Add(e, one)));
  }
  const V e = Exp(d, hn::Neg(hn::Abs(x)));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
  return hn::Div(numerator, hn::Add(one, e));
}

template <class D, class V>
HWY_INLINE V Erf(D d, V x) {
  if constexpr (kIsFloat<D>) {
    // Minimax on [0, 3.93]; from there on it is 1.
    constexpr float kP[] = {1.1283791065216064f,   0.19076219201087952f,    0.052787475287914276f,
                            0.003778707003220916f, 0.00028479238972067833f, 2.042180312855635e-06f};
    constexpr float kQ[] = {1.0f,
                            0.5023913383483887f,
                            0.11424862593412399f,
                            0.01499561220407486f,
                            0.0011650025844573975f,
                            3.8005426176823676e-05f};
    return OddRatio(d, hn::Max(hn::Set(d, -3.93f), hn::Min(hn::Set(d, 3.93f), x)), kP, kQ);
  } else {
    return PerLane(d, x, [](double v) { return std::erf(v); });
  }
}

/// x/2 (1 + erf(x / sqrt(2)))
template <class D, class V>
HWY_INLINE V Gelu(D d, V x) {
  using T = TOf<D>;
  const V half = hn::Mul(hn::Set(d, T(0.5)), x);
  return hn::MulAdd(half, Erf(d, hn::Mul(x, hn::Set(d, T(0.70710678118654752440)))), half);
}

/// x/2 (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): Gelu's approximation.
template <class D, class V>
HWY_INLINE V GeluByTanh(D d, V x) {
  using T = hn::TFromD<D>;
  const V inner = hn::MulAdd(hn::Mul(x, x), hn::Set(d, T(0.07135481627260025)), hn::Set(d, T(1.5957691216057308)));
  return hn::Mul(x, Sigmoid(d, hn::Mul(x, inner)));
}

/// alpha (e^x - 1) below 0
template <class D, class V>
HWY_INLINE V Elu(D d, V x, V alpha) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(alpha, Expm1(d, x)), x);
}

/// max(0, x) + min(0, alpha (e^(x/alpha) - 1))
template <class D, class V>
HWY_INLINE V Celu(D d, V x, V alpha) {
  const V zero = hn::Zero(d);
  const V curve = hn::Mul(alpha, Expm1(d, hn::Div(x, alpha)));
  return hn::Add(hn::IfThenElse(hn::Lt(x, zero), zero, x), hn::IfThenElse(hn::Gt(curve, zero), zero, curve));
}

/// log(1 + e^x)
template <class D, class V>
HWY_INLINE V Softplus(D d, V x) {
  const V e = Exp(d, hn::Neg(hn::Abs(x)));
  return hn::Add(hn::Max(hn::Zero(d), x), Log1pOfPositive(d, e));
}

/// x tanh(softplus(x)); with e = e^x the tanh is e(e + 2) / (e(e + 2) + 2).
template <class D, class V>
HWY_INLINE V Mish(D d, V x) {
  using T = TOf<D>;
  const V two = hn::Set(d, T(2));
  const V e = Exp(d, hn::Min(Const(d, 30.0f, 60.0), x));
  const V n = hn::Mul(e, hn::Add(e, two));
  return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
}

template <class D, class V>
HWY_INLINE V Sinh(D d, V x) {
  using T = TOf<D>;
  const V half = hn::Set(d, T(0.5));
  const V a = hn::Abs(x);
  const V em = Expm1(d, a);
  const V small = hn::Mul(half, hn::Add(em, hn::Div(em, hn::Add(em, hn::Set(d, T(1))))));
  const V root = Exp(d, hn::Mul(half, a));
  const V large = hn::Mul(hn::Mul(half, root), root);
  return hn::CopySign(hn::IfThenElse(hn::Gt(a, Const(d, 20.0f, 40.0)), large, small), x);
}
template <class D, class V>
HWY_INLINE V Cosh(D d, V x) {
  using T = TOf<D>;
  const V half = hn::Set(d, T(0.5));
  const V a = hn::Abs(x);
  const V e = Exp(d, a);
  const V small = hn::Mul(half, hn::Add(e, hn::Div(hn::Set(d, T(1)), e)));
  const V root = Exp(d, hn::Mul(half, a));
  const V large = hn::Mul(hn::Mul(half, root), root);
  return hn::IfThenElse(hn::Gt(a, Const(d, 20.0f, 40.0)), large, small);
}
template <class D, class V>
HWY_INLINE V Asinh(D d, V x) {
  using T = TOf<D>;
  const V one = hn::Set(d, T(1));
  const V a = hn::Abs(x);
  const V square = hn::Mul(a, a);
  const V small = Log1pOfPositive(d, hn::Add(a, hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(square, one))))));
  const V large = hn::Add(Log(d, a), hn::Set(d, T(0.693147180559945309417)));
  return hn::CopySign(hn::IfThenElse(hn::Gt(a, Const(d, 1e9f, 1e18)), large, small), x);
}
template <class D, class V>
HWY_INLINE V Acosh(D d, V x) {
  using T = TOf<D>;
  const V one = hn::Set(d, T(1));
  const V t = hn::Sub(x, one);
  const V small = Log1pOfPositive(d, hn::Add(t, hn::Sqrt(hn::MulAdd(t, t, hn::Add(t, t)))));
  const V large = hn::Add(Log(d, x), hn::Set(d, T(0.693147180559945309417)));
  const V y = hn::IfThenElse(hn::Gt(x, Const(d, 1e9f, 1e18)), large, small);
  return hn::IfThenElse(hn::Lt(x, one), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), y);
}
template <class D, class V>
HWY_INLINE V Atanh(D d, V x) {
  using T = TOf<D>;
  const V one = hn::Set(d, T(1));
  const V a = hn::Abs(x);
  const V ratio = hn::Div(hn::Add(a, a), hn::Sub(one, a));
  const V y = hn::Mul(hn::Set(d, T(0.5)), Log1pOfPositive(d, ratio));
  return hn::CopySign(hn::IfThenElse(hn::Gt(a, one), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), y), x);
}

}  // namespace vmath
}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#endif  // toggle
