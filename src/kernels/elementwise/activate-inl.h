// What an epilogue's activation does to a vector; included once per instruction set.

#include "kernels/gemm/gemm.h"

#if defined(TESSERA_ACTIVATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ACTIVATE_INL_H
#undef TESSERA_ACTIVATE_INL_H
#else
#define TESSERA_ACTIVATE_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T, class D, class V>
HWY_INLINE V Activate(D d, V v, const GemmEpilogue<T>& e) {
  switch (e.activation) {
    case GemmActivation::kNone: return v;
    case GemmActivation::kRelu:  // NaN stays NaN: the comparison fails
      return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);
    case GemmActivation::kClip:  // so that NaN stays NaN: x86 gives the second operand then
      return hn::Min(hn::Set(d, e.beta), hn::Max(hn::Set(d, e.alpha), v));
    case GemmActivation::kLeakyRelu: return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(v, hn::Set(d, e.alpha)), v);
    case GemmActivation::kHardSigmoid:
      return hn::Min(hn::Set(d, T{1}), hn::Max(hn::Zero(d), hn::MulAdd(v, hn::Set(d, e.alpha), hn::Set(d, e.beta))));
    case GemmActivation::kHardSwish: {
      const V gate = hn::MulAdd(v, hn::Set(d, static_cast<T>(1.0 / 6)), hn::Set(d, T{0.5}));
      return hn::Mul(v, hn::Min(hn::Set(d, T{1}), hn::Max(hn::Zero(d), gate)));
    }
  }
  return v;
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
