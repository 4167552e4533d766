#include "kernels/pool/max_indices.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/max_indices.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/vector/nan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;
constexpr int64_t kLanes = HWY_LANES(float);

/// Every kStride-th element, and none behind the last of them.
template <int64_t kStride>
HWY_INLINE V LoadStrided(const float* from) {
  const D d;
  const V low = hn::LoadU(d, from);
  if constexpr (kStride == 1 || kLanes == 1) {
    return low;
  } else {
    const V high = hn::LoadU(d, from + kLanes - 1);
    return hn::ConcatUpperLower(d, hn::ConcatOdd(d, high, high), hn::ConcatEven(d, low, low));
  }
}

/// One vector of outputs, of which NaN is the largest; maxima and indices stay in registers while the taps are read.
template <int64_t kStride>
HWY_INLINE void Maxima(const float* plane, const MaxTaps& taps, int64_t start, float* maxima, int64_t* indices) {
  const D d;
  const DI di;
  const VI steps = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(kStride)));
  V best = hn::Zero(d);
  VI at = hn::Zero(di);
  bool first = true;
  for (const int64_t row : taps.rows) {
    for (int64_t k = 0; k < taps.kernel; ++k) {
      const int64_t offset = row * taps.width + start + k * taps.dilation;
      const V value = LoadStrided<kStride>(plane + offset);
      const VI index = hn::Add(steps, hn::Set(di, static_cast<int32_t>(offset)));
      const auto wins = hn::Or(hn::Gt(value, best), hn::AndNot(NanLanes(best), NanLanes(value)));
      best = first ? value : hn::IfThenElse(wins, value, best);
      at = first ? index : hn::IfThenElse(hn::RebindMask(di, wins), index, at);
      first = false;
    }
  }
  hn::StoreU(best, d, maxima);
  HWY_ALIGN int32_t narrow[kLanes];
  hn::Store(at, di, narrow);
  std::copy_n(narrow, kLanes, indices);
}

template <int64_t kStride>
void AllMaxima(const float* plane, const MaxTaps& taps, int64_t start, int64_t count, float* maxima, int64_t* indices) {
  for (int64_t o = 0; o < count; o += kLanes) {
    const int64_t at = std::min(o, count - kLanes);  // the last vector meets the one before
    Maxima<kStride>(plane, taps, start + at * kStride, maxima + at, indices + at);
  }
}

int64_t RowMaxima(const float* plane, const MaxTaps& taps, int64_t start, int64_t count, float* maxima, int64_t* indices) {
  if (count < kLanes || taps.stride > 2) return 0;
  (taps.stride == 1 ? AllMaxima<1> : AllMaxima<2>)(plane, taps, start, count, maxima, indices);
  return count;
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(RowMaxima);

int64_t MaximaWithIndices(const float* plane, const MaxTaps& taps, int64_t start, int64_t count, float* maxima,
                          int64_t* indices) {
  return HWY_DYNAMIC_DISPATCH(RowMaxima)(plane, taps, start, count, maxima, indices);
}

}  // namespace tessera::cpu
#endif
