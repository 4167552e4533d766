#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/sum_bytes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/reduce/sum_bytes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Adds whole vectors from `i` on; `flip` makes signed bytes 128 more.
template <class D>
HWY_INLINE int64_t AddVectors(D d, const uint8_t* bytes, uint8_t flip, int64_t size, int64_t& i) {
  const hn::Repartition<uint64_t, D> d64;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (i + lanes > size) return 0;
  const auto flips = hn::Set(d, flip);
  auto even = hn::Zero(d64), odd = hn::Zero(d64);
  for (; i + 2 * lanes <= size; i += 2 * lanes) {
    even = hn::Add(even, hn::SumsOf8(hn::Xor(hn::LoadU(d, bytes + i), flips)));
    odd = hn::Add(odd, hn::SumsOf8(hn::Xor(hn::LoadU(d, bytes + i + lanes), flips)));
  }
  for (; i + lanes <= size; i += lanes) even = hn::Add(even, hn::SumsOf8(hn::Xor(hn::LoadU(d, bytes + i), flips)));
  return static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(d64, hn::Add(even, odd))));
}

void SumPlanes(const uint8_t* bytes, bool is_signed, int64_t planes, int64_t size, int64_t* sums) {
  const hn::ScalableTag<uint8_t> d;
  const hn::CappedTag<uint8_t, 16> d16;
  const uint8_t flip = is_signed ? 0x80 : 0;
  for (int64_t plane = 0; plane < planes; ++plane, bytes += size) {
    int64_t i = 0;
    int64_t sum = AddVectors(d, bytes, flip, size, i);
    sum += AddVectors(d16, bytes, flip, size, i);
    for (; i < size; ++i) sum += bytes[i] ^ flip;
    sums[plane] = is_signed ? sum - 128 * size : sum;
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(SumPlanes);

void SumBytes(const uint8_t* bytes, bool is_signed, int64_t planes, int64_t size, int64_t* sums) {
  HWY_DYNAMIC_DISPATCH(SumPlanes)(bytes, is_signed, planes, size, sums);
}

}  // namespace tessera::cpu
#endif
