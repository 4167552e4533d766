// A pixel's block of eight channels as vectors, and the epilogue; included once per instruction set.

#include "kernels/conv/nchw8c/nchw8c.h"
#include "kernels/elementwise/activate-inl.h"
#include "kernels/elementwise/math-inl.h"

#if defined(TESSERA_NCHW8C_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_NCHW8C_INL_H
#undef TESSERA_NCHW8C_INL_H
#else
#define TESSERA_NCHW8C_INL_H
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
  explicit Clamp(const Activation<float>& activation) : active(Clamps(activation.kind)) {
    const bool clips = activation.kind == ActivationKind::kClip;
    low = clips ? activation.alpha : 0;
    high = clips ? activation.beta : std::numeric_limits<float>::infinity();
  }

  template <class V>
  HWY_INLINE V operator()(V v) const {
    return Clip(hn::DFromV<V>(), v, low, high);
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
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(f(d, hn::LoadU(d, values + i)), d, values + i);
  if constexpr (kLanes > kChannelBlock) {
    const BlockTag one;
    for (; i < count; i += kChannelBlock) hn::StoreU(f(one, hn::LoadU(one, values + i)), one, values + i);
  }
}

/// v / (1 + e^-v), e^-v as in vmath::Sigmoid. What is less than -87 counts as -87, whose result is -1e-36.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Silu(D d, V v) {
  constexpr float kC[] = {
      1.0f, -1.0f, 0.499992311000824f, -0.16667114198207855f, 0.041890114545822144f, -0.008312525227665901f};
  const hn::RebindToUnsigned<D> du;
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

/// Activations other than clamps, over whole pixels of a block, the epilogue's `block`th.
[[maybe_unused]] HWY_NOINLINE void ActivateStored(const Epilogue<float>& epilogue, int64_t block, float* values,
                                                  int64_t count) {
  const float alpha = epilogue.activation.alpha, beta = epilogue.activation.beta;
  switch (epilogue.activation.kind) {
    case ActivationKind::kNone:
    case ActivationKind::kRelu:
    case ActivationKind::kClip: return;
    case ActivationKind::kLeakyRelu:
      return ForVectors(values, count, [&](auto d, auto v) { return LeakyRelu(d, v, alpha); });
    case ActivationKind::kPRelu: return Slope(epilogue.slopes + block * kChannelBlock, values, count);
    case ActivationKind::kHardSigmoid:
      return ForVectors(values, count, [&](auto d, auto v) { return HardSigmoid(d, v, alpha, beta); });
    case ActivationKind::kHardSwish: return ForVectors(values, count, [](auto d, auto v) { return HardSwish(d, v); });
    case ActivationKind::kSigmoid: return ForVectors(values, count, [](auto d, auto v) { return vmath::Sigmoid(d, v); });
    case ActivationKind::kSilu: return ForVectors(values, count, [](auto d, auto v) { return Silu(d, v); });
  }
}

HWY_INLINE bool ActivatesStored(ActivationKind kind) { return kind != ActivationKind::kNone && !Clamps(kind); }

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
