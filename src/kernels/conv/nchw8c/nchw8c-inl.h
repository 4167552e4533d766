// A pixel's block of eight channels as vectors, and the epilogue; included once per instruction set.

#include "kernels/conv/nchw8c/nchw8c.h"
#include "kernels/elementwise/math-inl.h"

#if defined(TESSERA_BLOCKED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_BLOCKED_INL_H
#undef TESSERA_BLOCKED_INL_H
#else
#define TESSERA_BLOCKED_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using BlockTag = hn::CappedTag<float, kChannelBlock>;
using BlockVector = hn::Vec<BlockTag>;
constexpr int kBlockLanes = HWY_LANES(float) < kChannelBlock ? HWY_LANES(float) : kChannelBlock;
constexpr int kBlockVectors = kChannelBlock / kBlockLanes;

/// Relu and Clip run in registers, the others over what was stored.
struct Clamp {
  explicit Clamp(const Nchw8cEpilogue& epilogue)
      : active(epilogue.activation == Nchw8cActivation::kClip), low(epilogue.alpha), high(epilogue.beta) {}

  template <class V>
  HWY_INLINE V operator()(V v) const {
    const hn::DFromV<V> d;
    return hn::Min(hn::Set(d, high), hn::Max(hn::Set(d, low), v));  // in this order NaN stays NaN
  }

  bool active;
  float low, high;
};

/// Over whole blocks, in vectors as wide as there are.
template <class F>
HWY_INLINE void ForVectors(float* values, int64_t count, F f) {
  const hn::ScalableTag<float> d;
  constexpr int kLanes = static_cast<int>(HWY_LANES(float));
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(f(hn::LoadU(d, values + i)), d, values + i);
  if constexpr (kLanes > kChannelBlock) {
    const BlockTag one;
    for (; i < count; i += kChannelBlock) hn::StoreU(f(hn::LoadU(one, values + i)), one, values + i);
  }
}

/// v / (1 + e^-v), e^-v as in vmath::Sigmoid. What is less than -87 counts as -87, whose result is -1e-36.
template <class V>
HWY_INLINE V Silu(V v) {
  constexpr float kC[] = {
      1.0f, -1.0f, 0.499992311000824f, -0.16667114198207855f, 0.041890114545822144f, -0.008312525227665901f};
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<hn::DFromV<V>> du;
  const auto magic = hn::Set(d, 12582912.0f);
  v = hn::Max(hn::Set(d, -87.0f), v);  // in this order NaN stays NaN
  const auto bounded = hn::Min(hn::Set(d, 87.0f), v);
  const auto shifted = hn::NegMulAdd(bounded, hn::Set(d, 1.44269504088896341f), magic);
  const auto r = hn::MulAdd(hn::Sub(shifted, magic), hn::Set(d, 0.693147180559945f), bounded);
  const auto p = vmath::Polynomial(d, r, kC);  // of -r
  const auto e = hn::BitCast(d, hn::Add(hn::BitCast(du, p), hn::ShiftLeft<23>(hn::BitCast(du, shifted))));
  return hn::Div(v, hn::Add(e, hn::Set(d, 1.0f)));
}

/// PRelu over pixels of one block.
HWY_INLINE void Slope(const float* slopes, float* values, int64_t count) {
  const BlockTag d;
  for (int v = 0; v < kBlockVectors; ++v) {
    const auto slope = hn::LoadU(d, slopes + v * kBlockLanes);
    for (int64_t i = v * kBlockLanes; i < count; i += kChannelBlock) {
      const auto x = hn::LoadU(d, values + i);
      hn::StoreU(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, slope), x), d, values + i);
    }
  }
}

/// Activations other than kClip, over whole pixels of a block, the epilogue's `block`th.
[[maybe_unused]] HWY_NOINLINE void ActivateStored(const Nchw8cEpilogue& epilogue, int64_t block, float* values,
                                                  int64_t count) {
  // For vectors of any width.
  const auto all = [](auto v, float number) { return hn::Set(hn::DFromV<decltype(v)>(), number); };
  const auto unit = [&](auto v) { return hn::Min(all(v, 1), hn::Max(all(v, 0), v)); };
  const float alpha = epilogue.alpha, beta = epilogue.beta;
  switch (epilogue.activation) {
    case Nchw8cActivation::kNone:
    case Nchw8cActivation::kClip: return;
    case Nchw8cActivation::kLeakyRelu:
      return ForVectors(values, count,
                        [&](auto v) { return hn::IfThenElse(hn::Lt(v, all(v, 0)), hn::Mul(v, all(v, alpha)), v); });
    case Nchw8cActivation::kPRelu: return Slope(epilogue.slopes + block * kChannelBlock, values, count);
    case Nchw8cActivation::kHardSigmoid:
      return ForVectors(values, count, [&](auto v) { return unit(hn::MulAdd(v, all(v, alpha), all(v, beta))); });
    case Nchw8cActivation::kHardSwish:
      return ForVectors(values, count,
                        [&](auto v) { return hn::Mul(v, unit(hn::MulAdd(v, all(v, 1.0f / 6), all(v, 0.5f)))); });
    case Nchw8cActivation::kSigmoid:
      return ForVectors(values, count, [](auto v) { return vmath::Sigmoid(hn::DFromV<decltype(v)>(), v); });
    case Nchw8cActivation::kSilu: return ForVectors(values, count, [](auto v) { return Silu(v); });
  }
}

HWY_INLINE bool ActivatesStored(const Nchw8cEpilogue& epilogue) {
  return epilogue.activation != Nchw8cActivation::kNone && epilogue.activation != Nchw8cActivation::kClip;
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
