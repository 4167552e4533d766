#include "kernels/conv/depthwise/depthwise_nhwc.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise/depthwise_nhwc.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kDepthwisePixelChannels>;

/// kCount pixels from `pixel` on, which share the loads of weights. All channels of few pixels stay in the first cache; all
/// pixels of a row at once would fall into few of its sets where there is a power of two of channels.
template <int64_t kCount>
HWY_INLINE void Compute(const DepthwisePixels& of, int64_t pixel) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t first = pixel * of.step;
  for (int64_t c = 0; c < of.channels; c += lanes) {
    const int64_t channel = std::min(c, of.channels - lanes);  // the last vector may overlap the one before
    hn::Vec<D> acc[kCount];
    for (int64_t i = 0; i < kCount; ++i) acc[i] = hn::LoadU(d, of.bias + channel);
    for (int64_t tap = 0; tap < of.num_taps; ++tap) {
      const auto weight = hn::LoadU(d, of.weights[tap] + channel);
      const float* x = of.taps[tap] + first + channel;
      for (int64_t i = 0; i < kCount; ++i) acc[i] = hn::MulAdd(hn::LoadU(d, x + i * of.step), weight, acc[i]);
    }
    float* out = of.out + pixel * of.channels + channel;
    for (int64_t i = 0; i < kCount; ++i) hn::StoreU(acc[i], d, out + i * of.channels);
  }
}

void Pixels(const DepthwisePixels& of) {
  constexpr int64_t kAbreast = 8;
  int64_t pixel = 0;
  for (; pixel + kAbreast <= of.count; pixel += kAbreast) Compute<kAbreast>(of, pixel);
  for (; pixel + 2 <= of.count; pixel += 2) Compute<2>(of, pixel);
  if (pixel < of.count) Compute<1>(of, pixel);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(Pixels);
void ComputeDepthwisePixels(const DepthwisePixels& pixels) { HWY_DYNAMIC_DISPATCH(Pixels)(pixels); }
}  // namespace tessera::cpu
#endif
