// Which lanes hold NaN. Included once per target after hwy/highway.h.
//
// NaN is looked for by this and nothing else. Ne(v, v) would not do: Highway 1.0 compiles != to the ordered comparison on
// AVX2 and AVX-512, which is false for NaN, and to the unordered one on SSE4.

#if defined(TESSERA_NAN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_NAN_INL_H
#undef TESSERA_NAN_INL_H
#else
#define TESSERA_NAN_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

/// None of the lanes where V holds integers.
template <class V, class D = hwy::HWY_NAMESPACE::DFromV<V>>
HWY_INLINE hwy::HWY_NAMESPACE::Mask<D> NanLanes(V v) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    return hn::IsNaN(v);
  } else {
    return hn::FirstN(D(), 0);
  }
}

/// The larger one; NaN where either is. x86's maximum is the second operand where they cannot be compared.
template <class V>
HWY_INLINE V MaxOrNan(V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  using D = hn::DFromV<V>;
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    return hn::IfThenElse(NanLanes(a), a, hn::Max(a, b));
  } else {
    return hn::Max(a, b);
  }
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
