#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/tiny_planes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/pool/pool-inl.h"
#include "kernels/pool/tiny_planes.h"
#include "kernels/transpose/transpose_block-inl.h"

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

constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));

/// Brings kLanes planes of `size` elements side by side: element after element, one lane for each plane.
void LanesOfPlanes(const float* from, int64_t size, float* to) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> a, b, c;
  switch (size) {
    case 1: return hn::Store(hn::LoadU(d, from), d, to);
    case 2: {
      hn::LoadInterleaved2(d, from, a, b);
      hn::Store(a, d, to);
      return hn::Store(b, d, to + kLanes);
    }
    case 3: {
      hn::LoadInterleaved3(d, from, a, b, c);
      hn::Store(a, d, to);
      hn::Store(b, d, to + kLanes);
      return hn::Store(c, d, to + 2 * kLanes);
    }
    default: break;
  }
  for (int64_t e = 0; e < size; e += 4) {
    const int64_t at = std::min(e, size - 4);
    for (int64_t p = 0; p < kLanes; p += 4 * kTallBlocks) {
      TransposeTallBlock(from + p * size + at, size, to + at * kLanes + p, kLanes);
    }
  }
}

/// The reverse, of results.
void PlanesOfLanes(const float* from, int64_t size, float* to) {
  const hn::ScalableTag<float> d;
  const auto vector = [&](int64_t e) HWY_ATTR { return hn::Load(d, from + e * kLanes); };
  switch (size) {
    case 1: return hn::StoreU(vector(0), d, to);
    case 2: return hn::StoreInterleaved2(vector(0), vector(1), d, to);
    case 3: return hn::StoreInterleaved3(vector(0), vector(1), vector(2), d, to);
    default: break;
  }
  for (int64_t e = 0; e < size; e += 4) {
    const int64_t at = std::min(e, size - 4);
    for (int64_t p = 0; p < kLanes; p += 4) TransposeBlock(from + at * kLanes + p, kLanes, to + p * size + at, size);
  }
}

/// Whether no lane can hold NaN; infinities of both signs may seem to.
bool IsWithoutNan(const float* lanes, int64_t size) {
  const hn::ScalableTag<float> d;
  auto even = hn::Zero(d), odd = even;
  int64_t e = 0;
  for (; e + 2 <= size; e += 2) {
    even = hn::Add(even, hn::Load(d, lanes + e * kLanes));
    odd = hn::Add(odd, hn::Load(d, lanes + (e + 1) * kLanes));
  }
  if (e < size) even = hn::Add(even, hn::Load(d, lanes + e * kLanes));
  return hn::AllFalse(d, NanLanes(hn::Add(even, odd)));
}

/// Of kLanes planes side by side. kPlain: a maximum is of numbers only.
template <PoolKind kKind, bool kPlain>
void PoolLanes(const TinyPlanes& tiny, const float* in, float* out) {
  using Op = PoolOp<float, kKind>;
  const hn::ScalableTag<float> d;
  const auto outputs = static_cast<int64_t>(tiny.ends.size());
  const int32_t* tap = tiny.taps.data();
  for (int64_t o = 0; o < outputs; ++o) {
    const int32_t* const end = tiny.taps.data() + tiny.ends[static_cast<size_t>(o)];
    auto v = hn::Set(d, Op::Identity());
    if (tap < end) v = Op::Load(hn::Load(d, in + *tap++ * kLanes));
    for (; tap < end; ++tap) {
      const auto next = Op::Load(hn::Load(d, in + *tap * kLanes));
      if constexpr (kPlain) v = hn::Max(v, next);
      else v = Op::Combine(v, next);
    }
    if (tiny.finish == PoolFinish::kDivide) v = hn::Div(v, hn::Set(d, tiny.counts[o]));
    if (tiny.finish == PoolFinish::kSquareRoot) v = hn::Sqrt(v);
    hn::Store(v, d, out + o * kLanes);
  }
}

/// Planes of so many elements are prefetched: the processor does not foresee reads of several of them at a time.
constexpr int64_t kFarApart = 32;

template <PoolKind kKind>
void Pool(const TinyPlanes& tiny, int64_t planes, const float* in, float* out) {
  const auto outputs = static_cast<int64_t>(tiny.ends.size());
  if (planes < kLanes) {
    for (int64_t p = 0; p < planes; ++p) PoolOne<kKind>(tiny, in + p * tiny.size, out + p * outputs);
    return;
  }
  HWY_ALIGN float lanes[kMostOfTinyPlane * kLanes];
  HWY_ALIGN float results[kMostOfTinyPlane * kLanes];
  for (int64_t first = 0; first < planes; first += kLanes) {
    const int64_t p = std::min(first, planes - kLanes);  // the last ones perhaps once more
    if (tiny.size >= kFarApart) {
      const float* const next = in + (p + kLanes) * tiny.size;
      for (int64_t i = 0; i < kLanes * tiny.size; i += 16) __builtin_prefetch(next + i);
    }
    LanesOfPlanes(in + p * tiny.size, tiny.size, lanes);
    if (kKind == PoolKind::kMax && IsWithoutNan(lanes, tiny.size)) {
      PoolLanes<kKind, kKind == PoolKind::kMax>(tiny, lanes, results);
    } else {
      PoolLanes<kKind, false>(tiny, lanes, results);
    }
    PlanesOfLanes(results, outputs, out + p * outputs);
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
