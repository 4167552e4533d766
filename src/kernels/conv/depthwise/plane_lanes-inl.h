// Planes of an image as vectors, one of several planes in each lane, and back. Included once per target after
// hwy/highway.h; for AVX2 and AVX-512.

#if defined(TESSERA_PLANE_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_PLANE_LANES_INL_H
#undef TESSERA_PLANE_LANES_INL_H
#else
#define TESSERA_PLANE_LANES_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/transpose/transpose_square-inl.h"
#include "kernels/vector/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kPlaneLanes = HWY_LANES(float);
using PlaneTag = hn::ScalableTag<float>;
constexpr int64_t kPlaneBytesAhead = 256;  // of a plane: so many planes are more than the processor follows

/// Pixels [0, count) of the planes from `first` on into one vector each; past every `width` of them `gap` numbers are left
/// out.
inline void SpreadPixels(const float* const* planes, int64_t first, int64_t count, int64_t width, int64_t gap, float* to) {
  const PlaneTag d;
  int64_t x = 0;
  for (int64_t i = 0; i < count; i += kPlaneLanes) {
    const int64_t left = std::min(count - i, kPlaneLanes);
    hn::Vec<PlaneTag> rows[kPlaneLanes];
    if (left == kPlaneLanes) {
#pragma GCC unroll 16
      for (int64_t r = 0; r < kPlaneLanes; ++r) {
        rows[r] = hn::LoadU(d, planes[r] + first + i);
        __builtin_prefetch(reinterpret_cast<const char*>(planes[r] + first + i) + kPlaneBytesAhead);
      }
    } else {
      const auto mask = hn::FirstN(d, static_cast<size_t>(left));
#pragma GCC unroll 16
      for (int64_t r = 0; r < kPlaneLanes; ++r) rows[r] = hn::MaskedLoad(mask, d, planes[r] + first + i);
    }
    TransposeSquare(rows);
#pragma GCC unroll 16
    for (int64_t r = 0; r < kPlaneLanes; ++r) {
      if (r >= left) break;
      hn::Store(rows[r], d, to);
      const bool last = ++x == width;
      to += last ? kPlaneLanes + gap : kPlaneLanes;
      x = last ? 0 : x;
    }
  }
}

/// The way back: `count` vectors become `count` neighbours in each of the outputs, from `first` on, of so many planes.
inline void GatherPixels(const float* from, int64_t count, float* const* outputs, int64_t planes, int64_t first) {
  const PlaneTag d;
  for (int64_t i = 0; i < count; i += kPlaneLanes) {
    const int64_t left = std::min(count - i, kPlaneLanes);
    hn::Vec<PlaneTag> rows[kPlaneLanes];
#pragma GCC unroll 16
    for (int64_t r = 0; r < kPlaneLanes; ++r) rows[r] = hn::Load(d, from + (i + r) * kPlaneLanes);
    TransposeSquare(rows);
#pragma GCC unroll 16
    for (int64_t r = 0; r < kPlaneLanes; ++r) {
      if (r >= planes) break;
      if (left == kPlaneLanes) {
        hn::StoreU(rows[r], d, outputs[r] + first + i);
      } else {
        StoreFirst(d, rows[r], outputs[r] + first + i, left);
      }
    }
  }
}

#endif

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
