// Indices counted from the front and checked, a vector at a time.

#include "kernels/transpose/indices.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/transpose/indices.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class Index>
bool Positions(const Index* HWY_RESTRICT indices, int64_t count, int64_t size, int64_t* HWY_RESTRICT positions) {
  const hn::ScalableTag<int64_t> d;
  const hn::Rebind<Index, decltype(d)> given;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto sizes = hn::Set(d, size), last = hn::Set(d, size - 1), zero = hn::Zero(d);
  auto outside = zero;  // negative where any index is: the position itself is, or what is left behind it
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto v = zero;
    if constexpr (std::is_same_v<Index, int64_t>) {
      v = hn::LoadU(d, indices + i);
    } else {
      v = hn::PromoteTo(d, hn::LoadU(given, indices + i));
    }
    v = hn::Add(v, hn::IfThenElseZero(hn::Lt(v, zero), sizes));
    outside = hn::Or(outside, hn::Or(v, hn::Sub(last, v)));
    hn::StoreU(v, d, positions + i);
  }
  bool inside = hn::AllFalse(d, hn::Lt(outside, zero));
  for (; i < count; ++i) {
    const int64_t index = indices[i];
    positions[i] = index < 0 ? index + size : index;
    inside = inside && static_cast<uint64_t>(positions[i]) < static_cast<uint64_t>(size);
  }
  return inside;
}

}  // namespace

bool PositionsOf32(const int32_t* indices, int64_t count, int64_t size, int64_t* positions) {
  return Positions(indices, count, size, positions);
}
bool PositionsOf64(const int64_t* indices, int64_t count, int64_t size, int64_t* positions) {
  return Positions(indices, count, size, positions);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(PositionsOf32);
HWY_EXPORT(PositionsOf64);

template <>
bool PositionsOf(const int32_t* indices, int64_t count, int64_t size, int64_t* positions) {
  return HWY_DYNAMIC_DISPATCH(PositionsOf32)(indices, count, size, positions);
}
template <>
bool PositionsOf(const int64_t* indices, int64_t count, int64_t size, int64_t* positions) {
  return HWY_DYNAMIC_DISPATCH(PositionsOf64)(indices, count, size, positions);
}

}  // namespace tessera::cpu
#endif
