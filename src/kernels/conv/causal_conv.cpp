// One channel of a causal convolution over time.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/causal_conv.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/conv/causal_conv.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Accumulators of a few vectors of outputs at a time stay in registers.
void Row(const float* x, const float* weight, int64_t k, float bias, int64_t count, float* out) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t t = 0;
  for (; t + 4 * lanes <= count; t += 4 * lanes) {
    auto a = hn::Set(d, bias), b = a, c = a, e = a;
    for (int64_t j = 0; j < k; ++j) {
      const auto w = hn::Set(d, weight[j]);
      a = hn::MulAdd(w, hn::LoadU(d, x + t + j), a);
      b = hn::MulAdd(w, hn::LoadU(d, x + t + j + lanes), b);
      c = hn::MulAdd(w, hn::LoadU(d, x + t + j + 2 * lanes), c);
      e = hn::MulAdd(w, hn::LoadU(d, x + t + j + 3 * lanes), e);
    }
    hn::StoreU(a, d, out + t);
    hn::StoreU(b, d, out + t + lanes);
    hn::StoreU(c, d, out + t + 2 * lanes);
    hn::StoreU(e, d, out + t + 3 * lanes);
  }
  for (; t < count; ++t) {
    float sum = bias;
    for (int64_t j = 0; j < k; ++j) sum += weight[j] * x[t + j];
    out[t] = sum;
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(Row);

void CausalConvRow(const float* x, const float* weight, int64_t k, float bias, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(Row)(x, weight, k, bias, count, out);
}

}  // namespace tessera::cpu
#endif
