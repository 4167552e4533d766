// The first lanes of a vector from and to memory that may end with them. Included once per target after hwy/highway.h.

#if defined(TESSERA_LOAD_FIRST_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_LOAD_FIRST_INL_H
#undef TESSERA_LOAD_FIRST_INL_H
#else
#define TESSERA_LOAD_FIRST_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// `count` elements of 4 or 8 bytes, up to a vector's, and zeros. Nothing else is read.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadFirst(D d, const hwy::HWY_NAMESPACE::TFromD<D>* from, int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else  // a masked load would read all, from an aligned address
  HWY_ALIGN hn::TFromD<D> lanes[HWY_LANES(hn::TFromD<D>)] = {};
  std::copy_n(from, count, lanes);
  return hn::Load(d, lanes);
#endif
}

/// The first `count` lanes, fewer than a vector's. Nothing else is written.
template <class D>
HWY_INLINE void StoreFirst(D d, hwy::HWY_NAMESPACE::Vec<D> v, hwy::HWY_NAMESPACE::TFromD<D>* to, int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET <= HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#elif HWY_TARGET == HWY_AVX2
  // By halves: a masked store of AVX2 is microcode on AMD's processors (Zen 3: 12 cycles and more).
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    constexpr int64_t kHalf = hn::MaxLanes(half);
    if (count < kHalf) return StoreFirst(half, hn::LowerHalf(half, v), to, count);
    hn::StoreU(hn::LowerHalf(half, v), half, to);
    StoreFirst(half, hn::UpperHalf(half, v), to + kHalf, count - kHalf);
  }
#else
  HWY_ALIGN hn::TFromD<D> lanes[HWY_LANES(hn::TFromD<D>)];
  hn::Store(v, d, lanes);
  std::copy_n(lanes, count, to);
#endif
}

/// Zeros in [begin, end), and of the last vector behind.
template <class D>
HWY_INLINE void StoreZeros(D d, int64_t begin, int64_t end, hwy::HWY_NAMESPACE::TFromD<D>* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  for (int64_t i = begin; i < end; i += static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(hn::Zero(d), d, to + i);
    asm volatile("" ::: "memory");  // or compilers call memset, which takes longer than a few vectors
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
