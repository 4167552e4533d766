#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/tiny_planes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/pool/pool-inl.h"
#include "kernels/pool/tiny_planes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

template <PoolKind kKind>
void PoolOne(const TinyPlanes& tiny, const float* in, float* out) {
  using Op = PoolOp<float, kKind>;
  int32_t tap = 0;
  for (size_t o = 0; o < tiny.ends.size(); ++o) {
    float v = Op::Identity();
    for (; tap < tiny.ends[o]; ++tap) v = Op::CombineOne(v, Op::LoadOne(in[tiny.taps[static_cast<size_t>(tap)]]));
    out[o] = tiny.finish == PoolFinish::kDivide       ? v / tiny.counts[o]
             : tiny.finish == PoolFinish::kSquareRoot ? std::sqrt(v)
                                                      : v;
  }
}

template <PoolKind kKind>
void Pool(const TinyPlanes& tiny, int64_t planes, const float* in, float* out) {
  using Op = PoolOp<float, kKind>;
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d)), outputs = static_cast<int64_t>(tiny.ends.size());
  if (planes < lanes) {
    for (int64_t p = 0; p < planes; ++p) PoolOne<kKind>(tiny, in + p * tiny.size, out + p * outputs);
    return;
  }
  const auto lane = hn::Iota(di, 0);
  const auto in_lanes = hn::Mul(lane, hn::Set(di, static_cast<int32_t>(tiny.size))),
             out_lanes = hn::Mul(lane, hn::Set(di, static_cast<int32_t>(outputs)));
  for (int64_t first = 0; first < planes; first += lanes) {
    const int64_t p = std::min(first, planes - lanes);  // the last ones perhaps once more
    const float* const from = in + p * tiny.size;
    int32_t tap = 0;
    for (int64_t o = 0; o < outputs; ++o) {
      auto v = hn::Set(d, Op::Identity());
      for (const int32_t end = tiny.ends[static_cast<size_t>(o)]; tap < end; ++tap) {
        v = Op::Combine(v, Op::Load(hn::GatherIndex(d, from + tiny.taps[static_cast<size_t>(tap)], in_lanes)));
      }
      if (tiny.finish == PoolFinish::kDivide) v = hn::Div(v, hn::Set(d, tiny.counts[o]));
      if (tiny.finish == PoolFinish::kSquareRoot) v = hn::Sqrt(v);
      hn::ScatterIndex(v, d, out + p * outputs + o, out_lanes);
    }
  }
}

void PoolTiny(const TinyPlanes& tiny, int64_t planes, const float* in, float* out) {
  switch (tiny.kind) {
    case PoolKind::kMax: return Pool<PoolKind::kMax>(tiny, planes, in, out);
    case PoolKind::kSum: return Pool<PoolKind::kSum>(tiny, planes, in, out);
    case PoolKind::kSumOfAbs: return Pool<PoolKind::kSumOfAbs>(tiny, planes, in, out);
    case PoolKind::kSumOfSquares: return Pool<PoolKind::kSumOfSquares>(tiny, planes, in, out);
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(PoolTiny);

void PoolTinyPlanes(const TinyPlanes& tiny, int64_t planes, const float* in, float* out) {
  HWY_DYNAMIC_DISPATCH(PoolTiny)(tiny, planes, in, out);
}

}  // namespace tessera::cpu
#endif
