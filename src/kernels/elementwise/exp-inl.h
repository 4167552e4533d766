// exp of vectors, for reductions and softmax. Included once per target after hwy/highway.h.

#if defined(TESSERA_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_EXP_INL_H
#undef TESSERA_EXP_INL_H
#else
#define TESSERA_EXP_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>

#include <limits>

#include "kernels/vector/nan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

/// e^x for x <= 88.7, within 1.5 ulp; results below the smallest normal number become 0; NaN stays NaN. Larger x are for
/// ExpAny.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> ExpBounded(D d, hwy::HWY_NAMESPACE::Vec<D> x) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::IfThenElse(NanLanes(x), x, hn::Exp(d, x));
  } else {
    const hn::RebindToSigned<D> di;
    // x = n ln2 + r with |r| <= ln2 / 2; ln2 is split so that n times its high part is exact.
    const auto n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
    auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
    r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
    auto p = hn::Set(d, 1.9875691500e-4f);
    p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
    p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
    p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
    p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
    p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
    p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0f));
    // n reaches 128 at the top of the range: 2^n is applied as the exponent's sum, not as a product with a float.
    const auto bits = hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::ConvertTo(di, n)));
    const auto y = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.336544f)), hn::BitCast(d, bits));
    return hn::IfThenElse(NanLanes(x), x, y);
  }
}

/// e^x for x <= 0, in fewer steps: within 6e-7 of the result, and exactly 1 for 0.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> ExpNotPositive(D d, hwy::HWY_NAMESPACE::Vec<D> x) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return ExpBounded(d, x);
  } else {
    const hn::RebindToSigned<D> di;
    // In this sum the product is rounded to the integer n, and the low bits are n + 127: the exponent of 2^n.
    const auto magic = hn::Set(d, 12582912.0f + 127.0f);
    const auto t = hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), magic);
    const auto n = hn::Sub(t, magic);
#if HWY_NATIVE_FMA
    // The product is not rounded, and ln2 as a float is wrong by 2e-9 only.
    const auto r = hn::NegMulAdd(n, hn::Set(d, 0.69314718056f), x);
#else
    auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
    r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
#endif
    // Fitted to |r| <= ln2 / 2, with a relative error of 1.1e-7.
    const auto one = hn::Set(d, 1.0f);
    auto p = hn::Set(d, 8.3125e-3f);
    p = hn::MulAdd(p, r, hn::Set(d, 4.189033e-2f));
    p = hn::MulAdd(p, r, hn::Set(d, 1.6667115e-1f));
    p = hn::MulAdd(p, r, hn::Set(d, 4.999923e-1f));
    p = hn::MulAdd(p, r, one);
    p = hn::MulAdd(p, r, one);
    const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, t)));
    // A NaN is below nothing and stays one in the product.
    return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.336544f)), hn::Mul(p, power));
  }
}

/// e^x for all x.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> ExpAny(D d, hwy::HWY_NAMESPACE::Vec<D> x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  const T top = sizeof(T) == 8 ? static_cast<T>(709.782712893384) : static_cast<T>(88.7228391f);
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, top)), hn::Set(d, std::numeric_limits<T>::infinity()), ExpBounded(d, x));
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
