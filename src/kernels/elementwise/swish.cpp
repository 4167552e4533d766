// Activations of a row in place, and steps that keep NaN in a row.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/swish.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/elementwise/exp-inl.h"
#include "kernels/elementwise/swish.h"
#include "kernels/vector/nan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// x / (1 + exp(-u))
HWY_INLINE V Gate(V x, V u) {
  const D d;
  // exp(-|u|) does not overflow; for negative u the quotient is inverted.
  const V e = ExpBounded(d, hn::Neg(hn::Min(hn::Abs(u), hn::Set(d, 88.0f))));
  const V y = hn::Div(hn::IfThenElse(hn::Lt(u, hn::Zero(d)), hn::Mul(x, e), x), hn::Add(hn::Set(d, 1.0f), e));
  return hn::IfThenElse(NanLanes(x), x, y);
}

template <class F>
HWY_INLINE void ForRow(float* row, int64_t count, const F& f) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(d, row + i)), d, row + i);
  if (i == count) return;
  HWY_ALIGN float last[HWY_LANES(float)] = {};
  for (int64_t j = i; j < count; ++j) last[j - i] = row[j];
  hn::Store(f(hn::Load(d, last)), d, last);
  for (int64_t j = i; j < count; ++j) row[j] = last[j - i];
}

void Swish(float* row, int64_t count, float alpha) {
  const V factor = hn::Set(D(), alpha);
  ForRow(row, count, [&](V x) HWY_ATTR { return Gate(x, hn::Mul(x, factor)); });
}

void FastGelu(float* row, int64_t count) {
  const D d;
  const V first = hn::Set(d, 1.5957691216057308f), third = hn::Set(d, 1.5957691216057308f * 0.044715f);  // 2 sqrt(2/pi)
  ForRow(row, count, [&](V x) HWY_ATTR { return Gate(x, hn::Mul(x, hn::MulAdd(hn::Mul(x, x), third, first))); });
}

/// to = f(from, to)
template <class F>
HWY_INLINE void ForRows(const float* from, int64_t count, float* to, const F& f) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(d, from + i), hn::LoadU(d, to + i)), d, to + i);
  if (i == count) return;
  HWY_ALIGN float last[HWY_LANES(float)] = {}, old[HWY_LANES(float)] = {};
  for (int64_t j = i; j < count; ++j) last[j - i] = from[j], old[j - i] = to[j];
  hn::Store(f(hn::Load(d, last), hn::Load(d, old)), d, last);
  for (int64_t j = i; j < count; ++j) to[j] = last[j - i];
}

void ClipLoop(const float* from, int64_t count, float low, float high, float* to) {
  const D d;
  const V least = hn::Set(d, low), most = hn::Set(d, high);
  ForRows(from, count, to, [&](V x, V) HWY_ATTR {
    const V raised = hn::IfThenElse(hn::Lt(x, least), least, x);
    return hn::IfThenElse(hn::Lt(most, raised), most, raised);
  });
}

void RaiseLoop(const float* from, int64_t count, float* to) {
  ForRows(from, count, to,
          [&](V x, V old) HWY_ATTR { return hn::IfThenElse(hn::Or(hn::Lt(old, x), NanLanes(x)), x, old); });
}

void MarkNanLoop(const float* from, int64_t count, float* to) {
  ForRows(from, count, to, [&](V x, V old) HWY_ATTR { return hn::IfThenElse(NanLanes(x), x, old); });
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(Swish);
HWY_EXPORT(FastGelu);
HWY_EXPORT(ClipLoop);
HWY_EXPORT(RaiseLoop);
HWY_EXPORT(MarkNanLoop);

void SwishRow(float* row, int64_t count, float alpha) { HWY_DYNAMIC_DISPATCH(Swish)(row, count, alpha); }
void FastGeluRow(float* row, int64_t count) { HWY_DYNAMIC_DISPATCH(FastGelu)(row, count); }
void ClipRow(const float* from, int64_t count, float low, float high, float* to) {
  HWY_DYNAMIC_DISPATCH(ClipLoop)(from, count, low, high, to);
}
void RaiseRow(const float* from, int64_t count, float* to) { HWY_DYNAMIC_DISPATCH(RaiseLoop)(from, count, to); }
void MarkNanRow(const float* from, int64_t count, float* to) { HWY_DYNAMIC_DISPATCH(MarkNanLoop)(from, count, to); }

}  // namespace tessera::cpu
#endif
