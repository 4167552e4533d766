// What activations do to a vector; included once per instruction set.

#include "kernels/elementwise/activation.h"

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

// NaN stays NaN in all of them: comparisons fail, and x86's minima and maxima give the second operand.

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Relu(D d, V v) {
  return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Clip(D d, V v, hn::TFromD<D> low, hn::TFromD<D> high) {
  return hn::Min(hn::Set(d, high), hn::Max(hn::Set(d, low), v));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V LeakyRelu(D d, V v, hn::TFromD<D> slope) {
  return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(v, hn::Set(d, slope)), v);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V HardSigmoid(D d, V v, hn::TFromD<D> slope, hn::TFromD<D> offset) {
  return hn::Min(hn::Set(d, hn::TFromD<D>{1}), hn::Max(hn::Zero(d), hn::MulAdd(v, hn::Set(d, slope), hn::Set(d, offset))));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V HardSwish(D d, V v) {
  return hn::Mul(v, HardSigmoid(d, v, static_cast<hn::TFromD<D>>(1.0 / 6), hn::TFromD<D>{0.5}));
}

/// Those that every kernel applies; the others leave v as it is.
template <class T, class D, class V>
HWY_INLINE V Activate(D d, V v, const Activation<T>& activation) {
  switch (activation.kind) {
    case ActivationKind::kRelu: return Relu(d, v);
    case ActivationKind::kClip: return Clip(d, v, activation.alpha, activation.beta);
    case ActivationKind::kLeakyRelu: return LeakyRelu(d, v, activation.alpha);
    case ActivationKind::kHardSigmoid: return HardSigmoid(d, v, activation.alpha, activation.beta);
    case ActivationKind::kHardSwish: return HardSwish(d, v);
    case ActivationKind::kNone:
    case ActivationKind::kPRelu:
    case ActivationKind::kSigmoid:
    case ActivationKind::kSilu: break;
  }
  return v;
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
