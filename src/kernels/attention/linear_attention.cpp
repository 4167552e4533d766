// The recurrence of linear attention.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/linear_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/cancellation.h"
#include "kernels/attention/linear_attention.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kLinearAttentionColumns>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t kVectors = kLinearAttentionColumns / kLanes;

struct Columns {
  V v[kVectors];
};

HWY_INLINE Columns Zero() {
  Columns c;
  for (int64_t i = 0; i < kVectors; ++i) c.v[i] = hn::Zero(D());
  return c;
}

/// The sum of weight[row] * state[row]. With `kDecay` the state is multiplied first, and kept.
template <bool kDecay>
HWY_INLINE Columns WeightedSum(float* HWY_RESTRICT state, int64_t rows, const float* HWY_RESTRICT weight,
                               const float* HWY_RESTRICT decay, int64_t decay_row) {
  const D d;
  Columns even = Zero(), odd = Zero();
  const auto add = [&](int64_t row, Columns& sum) HWY_ATTR {
    float* at = state + row * kLinearAttentionColumns;
    const V w = hn::Set(d, weight[row]);
    for (int64_t i = 0; i < kVectors; ++i) {
      V s = hn::Load(d, at + i * kLanes);
      if constexpr (kDecay) {
        s = hn::Mul(s, hn::Set(d, decay[row * decay_row]));
        hn::Store(s, d, at + i * kLanes);
      }
      sum.v[i] = hn::MulAdd(w, s, sum.v[i]);
    }
  };
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2) {
    add(row, even);
    add(row + 1, odd);
  }
  if (row < rows) add(row, even);
  for (int64_t i = 0; i < kVectors; ++i) even.v[i] = hn::Add(even.v[i], odd.v[i]);
  return even;
}

/// state[row] = decay * state[row] + k[row] * v
template <bool kDecay>
HWY_INLINE void Write(float* HWY_RESTRICT state, int64_t rows, const float* HWY_RESTRICT k, const Columns& v,
                      const float* HWY_RESTRICT decay, int64_t decay_row) {
  const D d;
  for (int64_t row = 0; row < rows; ++row) {
    float* at = state + row * kLinearAttentionColumns;
    const V w = hn::Set(d, k[row]);
    for (int64_t i = 0; i < kVectors; ++i) {
      V s = hn::Load(d, at + i * kLanes);
      if constexpr (kDecay) s = hn::Mul(s, hn::Set(d, decay[row * decay_row]));
      hn::Store(hn::MulAdd(w, v.v[i], s), d, at + i * kLanes);
    }
  }
}

void LinearAttention(const LinearAttentionBlock& b) {
  const D d;
  HWY_ALIGN float row[kLinearAttentionColumns] = {};
  PacedCancellationPoint look(0.2);
  for (int64_t t = 0; t < b.steps; ++t) {
    look.Pass(b.width * kLinearAttentionColumns * (b.group + 2) / 8 + 1);
    const float* k = b.k + t * b.k_step;
    const float* decay = b.decay == nullptr ? nullptr : b.decay + t * b.decay_step;
    std::copy_n(b.v + t * b.v_step, b.columns, row);
    Columns v;
    for (int64_t i = 0; i < kVectors; ++i) v.v[i] = hn::Load(d, row + i * kLanes);
    if (b.beta != nullptr) {
      const Columns known = decay == nullptr ? WeightedSum<false>(b.state, b.width, k, nullptr, 0)
                                             : WeightedSum<true>(b.state, b.width, k, decay, b.decay_row);
      const V beta = hn::Set(d, b.beta[t * b.beta_step]);
      for (int64_t i = 0; i < kVectors; ++i) v.v[i] = hn::Mul(beta, hn::Sub(v.v[i], known.v[i]));
      Write<false>(b.state, b.width, k, v, nullptr, 0);
    } else if (decay != nullptr) {
      Write<true>(b.state, b.width, k, v, decay, b.decay_row);
    } else {
      Write<false>(b.state, b.width, k, v, nullptr, 0);
    }
    for (int64_t h = 0; h < b.group; ++h) {
      const Columns out = WeightedSum<false>(b.state, b.width, b.q + t * b.q_step + h * b.width, nullptr, 0);
      for (int64_t i = 0; i < kVectors; ++i) hn::Store(hn::Mul(out.v[i], hn::Set(d, b.scale)), d, row + i * kLanes);
      std::copy_n(row, b.columns, b.out + t * b.out_step + h * b.out_head);
    }
    std::fill(row + b.columns, row + kLinearAttentionColumns, 0.0f);
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(LinearAttention);

void RunLinearAttention(const LinearAttentionBlock& block) { HWY_DYNAMIC_DISPATCH(LinearAttention)(block); }

}  // namespace tessera::cpu
#endif
