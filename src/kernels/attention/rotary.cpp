// Rotations of pairs of numbers.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/rotary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention/rotary.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

void Halves(const float* __restrict x, const float* __restrict cosine, const float* __restrict sine, int64_t half,
            float* __restrict y) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[half + i];
    y[i] = cosine[i] * a - sine[i] * b;
    y[half + i] = sine[i] * a + cosine[i] * b;
  }
}

void Pairs(const float* __restrict x, const float* __restrict cosine, const float* __restrict sine, int64_t half,
           float* __restrict y) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    y[2 * i] = cosine[i] * a - sine[i] * b;
    y[2 * i + 1] = sine[i] * a + cosine[i] * b;
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(Halves);
HWY_EXPORT(Pairs);

void RotateHalves(const float* x, const float* cosine, const float* sine, int64_t half, float* y) {
  HWY_DYNAMIC_DISPATCH(Halves)(x, cosine, sine, half, y);
}
void RotatePairs(const float* x, const float* cosine, const float* sine, int64_t half, float* y) {
  HWY_DYNAMIC_DISPATCH(Pairs)(x, cosine, sine, half, y);
}

}  // namespace tessera::cpu
#endif
