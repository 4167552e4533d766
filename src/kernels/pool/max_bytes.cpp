#include "kernels/pool/max_bytes.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/max_bytes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// kVectors vectors from `i` on, which stay in registers while rows pass.
template <class D, int kVectors>
HWY_INLINE void MaxAt(D d, const uint8_t* const* rows, size_t count, int64_t i, uint8_t* to) {
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(uint8_t));
  const hn::RebindToUnsigned<D> bytes;
  const auto load = [&](size_t r, int v) HWY_ATTR { return hn::BitCast(d, hn::LoadU(bytes, rows[r] + i + v * kLanes)); };
  hn::Vec<D> most[kVectors];
  for (int v = 0; v < kVectors; ++v) most[v] = load(0, v);
  for (size_t r = 1; r < count; ++r) {
    for (int v = 0; v < kVectors; ++v) most[v] = hn::Max(most[v], load(r, v));
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(hn::BitCast(bytes, most[v]), bytes, to + i + v * kLanes);
}

template <class T>
void MaxOf(const uint8_t* const* rows, size_t count, int64_t n, uint8_t* to) {
  const hn::ScalableTag<T> d;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(uint8_t));
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) MaxAt<decltype(d), 4>(d, rows, count, i, to);
  for (; i + kLanes <= n; i += kLanes) MaxAt<decltype(d), 1>(d, rows, count, i, to);
  for (; i < n; ++i) {
    auto most = static_cast<T>(rows[0][i]);
    for (size_t r = 1; r < count; ++r) most = std::max(most, static_cast<T>(rows[r][i]));
    to[i] = static_cast<uint8_t>(most);
  }
}

void MaxAll(const uint8_t* const* rows, size_t count, bool is_signed, int64_t n, uint8_t* to) {
  (is_signed ? MaxOf<int8_t> : MaxOf<uint8_t>)(rows, count, n, to);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(MaxAll);

void MaxOfRows(const uint8_t* const* rows, size_t count, bool is_signed, int64_t n, uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(MaxAll)(rows, count, is_signed, n, to);
}

}  // namespace tessera::cpu
#endif
