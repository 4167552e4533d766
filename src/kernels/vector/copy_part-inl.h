// A few elements from memory to memory, neither read nor written beyond them. Included once per target after hwy/highway.h.

#if defined(TESSERA_COPY_PART_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_COPY_PART_INL_H
#undef TESSERA_COPY_PART_INL_H
#else
#define TESSERA_COPY_PART_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/vector/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// `length` elements, at least one, of each of `count` rows. Without AVX-512 a masked store takes many times as long as one
/// of less than a vector, which may overlap another.
template <class D, class T = hwy::HWY_NAMESPACE::TFromD<D>>
HWY_INLINE void CopyParts(D d, int64_t length, int64_t count, const T* from, int64_t from_step, T* to, int64_t to_step) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr auto kWidth = static_cast<int64_t>(hn::MaxLanes(D()));
  constexpr bool kMasked = HWY_TARGET == HWY_AVX3;
  if constexpr (!kMasked && kWidth > 1) {
    if (length < kWidth) return CopyParts(hn::Half<D>(), length, count, from, from_step, to, to_step);
  }
  for (int64_t r = 0; r < count; ++r, from += from_step, to += to_step) {
    int64_t x = 0;
    if constexpr (kMasked) {
      for (; x + kWidth <= length; x += kWidth) hn::StoreU(hn::LoadU(d, from + x), d, to + x);
      if (x < length) StoreFirst(d, LoadFirst(d, from + x, length - x), to + x, length - x);
    } else {
      for (; x < length - kWidth; x += kWidth) hn::StoreU(hn::LoadU(d, from + x), d, to + x);
      hn::StoreU(hn::LoadU(d, from + length - kWidth), d, to + length - kWidth);
    }
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
