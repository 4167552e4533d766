#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/boxes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/image/boxes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

bool AnyOverlap(const BoxArrays& boxes, int64_t count, float x_min, float y_min, float x_max, float y_max, float area,
                float threshold) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  const auto left = hn::Set(d, x_min), right = hn::Set(d, x_max), top = hn::Set(d, y_min), bottom = hn::Set(d, y_max);
  const auto own = hn::Set(d, area), limit = hn::Set(d, threshold);
  for (int64_t i = 0; i < count; i += lanes) {
    const auto width = hn::Sub(hn::Min(right, hn::LoadU(d, boxes.x_max + i)), hn::Max(left, hn::LoadU(d, boxes.x_min + i)));
    const auto height =
        hn::Sub(hn::Min(bottom, hn::LoadU(d, boxes.y_max + i)), hn::Max(top, hn::LoadU(d, boxes.y_min + i)));
    const auto overlaps = hn::And(hn::Gt(width, zero), hn::Gt(height, zero));
    if (hn::AllFalse(d, overlaps)) continue;
    const auto common = hn::Mul(width, height);
    const auto other = hn::LoadU(d, boxes.area + i);
    const auto all = hn::Sub(hn::Add(own, other), common);
    const auto real =
        hn::And(hn::And(hn::Gt(common, zero), hn::Gt(all, zero)), hn::And(hn::Gt(own, zero), hn::Gt(other, zero)));
    const auto close = hn::And(hn::And(overlaps, real), hn::Gt(hn::Div(common, all), limit));
    if (i + lanes <= count) {
      if (!hn::AllFalse(d, close)) return true;
    } else if (!hn::AllFalse(d, hn::And(close, hn::FirstN(d, static_cast<size_t>(count - i))))) {
      return true;
    }
  }
  return false;
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(AnyOverlap);
bool OverlapsAny(const BoxArrays& boxes, int64_t count, float x_min, float y_min, float x_max, float y_max, float area,
                 float threshold) {
  return HWY_DYNAMIC_DISPATCH(AnyOverlap)(boxes, count, x_min, y_min, x_max, y_max, area, threshold);
}
}  // namespace tessera::cpu
#endif
