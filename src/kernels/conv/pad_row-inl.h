// Copies rows of an image with zeros around them; included once per instruction set.

#if defined(TESSERA_PAD_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_PAD_ROW_INL_H
#undef TESSERA_PAD_ROW_INL_H
#else
#define TESSERA_PAD_ROW_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Clears up to a vector more, where there is something to clear. Rows are short: a loop that became a call to memset would
/// cost more than its stores.
HWY_INLINE void Clear(float* to, int64_t count) {
  constexpr int64_t lanes = HWY_LANES(float);
  const hn::ScalableTag<float> d;
  if (count > 0) hn::StoreU(hn::Zero(d), d, to);
#pragma GCC unroll 2
  for (int64_t x = lanes; x < count; x += lanes) {
    hn::StoreU(hn::Zero(d), d, to + x);
  }
}

/// `count` elements and zeros up to `end`, and up to a vector more. `limit`: the end of what may be read.
HWY_INLINE void CopyRow(const float* from, const float* limit, int64_t count, int64_t end, float* to) {
  constexpr int64_t lanes = HWY_LANES(float);
  const hn::ScalableTag<float> d;
  int64_t x = 0;
  if (count >= lanes) {
    for (; x + lanes <= count; x += lanes) hn::StoreU(hn::LoadU(d, from + x), d, to + x);
    hn::StoreU(hn::LoadU(d, from + count - lanes), d, to + count - lanes);
  } else if (limit - from >= lanes) {
    hn::StoreU(hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(count)), hn::LoadU(d, from)), d, to);
  } else {
    std::copy_n(from, count, to);
  }
  Clear(to + count, end - count);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
