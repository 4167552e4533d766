// Two taps of an 8-bit depthwise convolution at once. Included once per target after hwy/highway.h.

#if defined(TESSERA_TAP_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_TAP_PAIRS_INL_H
#undef TESSERA_TAP_PAIRS_INL_H
#else
#define TESSERA_TAP_PAIRS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<int16_t>;
using D32 = hn::ScalableTag<int32_t>;

/// Adds a pair of taps, whose weights alternate, to the accumulators of a vector of pixels: `low` those of
/// InterleaveLower, `high` the others.
template <class T>
HWY_INLINE void AddTaps(const T* first, const T* second, hn::Vec<D16> low_weights, hn::Vec<D16> high_weights,
                        hn::Vec<D32>& low, hn::Vec<D32>& high) {
  const D16 d16;
  const D32 d32;
  const hn::Rebind<T, D16> narrow;
  const auto a = hn::PromoteTo(d16, hn::LoadU(narrow, first)), b = hn::PromoteTo(d16, hn::LoadU(narrow, second));
  auto unused = hn::Zero(d32);
  low = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveLower(d16, a, b), low_weights, low, unused);
  high = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveUpper(d16, a, b), high_weights, high, unused);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
