// One channel of a causal convolution over time.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/causal_conv.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "simd/causal_conv.h"
#include "simd/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Sums of a few vectors of outputs at a time stay in registers.
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

void Silu(float* row, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, 1.0f);
  const auto apply = [&](auto x) HWY_ATTR {
    // exp(-|x|) does not overflow; for negative x the quotient is turned round.
    const auto e = ExpBounded(d, hn::Neg(hn::Min(hn::Abs(x), hn::Set(d, 88.0f))));
    const auto y = hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, e), x), hn::Add(one, e));
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(apply(hn::LoadU(d, row + i)), d, row + i);
  for (; i < count; ++i) row[i] = row[i] / (1 + std::exp(-row[i]));
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(Row);
HWY_EXPORT(Silu);

void CausalConvRow(const float* x, const float* weight, int64_t k, float bias, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(Row)(x, weight, k, bias, count, out);
}
void SiluRow(float* row, int64_t count) { HWY_DYNAMIC_DISPATCH(Silu)(row, count); }

}  // namespace tessera::cpu
#endif
