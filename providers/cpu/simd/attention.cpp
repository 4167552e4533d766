// Rows of attention scores.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "simd/attention.h"
#include "simd/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// tanh: an odd series near 0, where the quotient of exponentials would cancel.
template <class D, class V>
HWY_INLINE V TanhOf(D d, V x) {
  using T = hn::TFromD<D>;
  const V size = hn::Abs(x);
  const V e = ExpBounded(d, hn::Mul(hn::Min(size, hn::Set(d, T{40})), hn::Set(d, T{-2})));
  const V far = hn::Div(hn::Sub(hn::Set(d, T{1}), e), hn::Add(hn::Set(d, T{1}), e));
  const V s = hn::Mul(x, x);
  V p = hn::Set(d, static_cast<T>(-1382.0 / 155925));
  p = hn::MulAdd(p, s, hn::Set(d, static_cast<T>(62.0 / 2835)));
  p = hn::MulAdd(p, s, hn::Set(d, static_cast<T>(-17.0 / 315)));
  p = hn::MulAdd(p, s, hn::Set(d, static_cast<T>(2.0 / 15)));
  p = hn::MulAdd(p, s, hn::Set(d, static_cast<T>(-1.0 / 3)));
  const V near = hn::MulAdd(hn::Mul(p, s), x, x);
  const V y = hn::IfThenElse(hn::Lt(size, hn::Set(d, static_cast<T>(0.15))), near, hn::CopySign(far, x));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// Whole vectors through `whole`, the rest through a padded one.
template <class T, class Whole>
HWY_INLINE void ForRow(T* row, int64_t count, T padding, Whole&& whole) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(whole(hn::LoadU(d, row + i)), d, row + i);
  if (i == count) return;
  HWY_ALIGN T tail[HWY_LANES(T)];
  for (int64_t j = 0; j < lanes; ++j) tail[j] = i + j < count ? row[i + j] : padding;
  hn::Store(whole(hn::Load(d, tail)), d, tail);
  for (int64_t j = 0; i + j < count; ++j) row[i + j] = tail[j];
}

template <class T>
void Softcap(T* row, int64_t count, T cap) {
  const hn::ScalableTag<T> d;
  const auto up = hn::Set(d, cap);
  const auto down = hn::Set(d, T{1} / cap);
  ForRow(row, count, T{0}, [&](auto v) HWY_ATTR { return hn::Mul(TanhOf(d, hn::Mul(v, down)), up); });
}

template <class T>
void AddTo(T* row, const T* bias, int64_t count) {
  for (int64_t i = 0; i < count; ++i) row[i] += bias[i];
}

template <class T>
T Largest(const T* row, int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto best = hn::Set(d, -std::numeric_limits<T>::infinity());
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) best = hn::Max(best, hn::LoadU(d, row + i));
  T result = hn::GetLane(hn::MaxOfLanes(d, best));
  for (; i < count; ++i) result = row[i] > result ? row[i] : result;
  return result;
}

template <class T>
T Exponentiate(T* row, int64_t count, T max) {
  const hn::ScalableTag<T> d;
  const auto shift = hn::Set(d, max);
  auto sum = hn::Zero(d);
  ForRow(row, count, -std::numeric_limits<T>::infinity(), [&](auto v) HWY_ATTR {
    const auto e = ExpBounded(d, hn::Sub(v, shift));
    sum = hn::Add(sum, e);
    return e;
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <class T>
void Scale(T* row, int64_t count, T factor) {
  for (int64_t i = 0; i < count; ++i) row[i] *= factor;
}

/// The first `count` lanes; the others are zero.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const T* from, size_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T lanes[HWY_LANES(T)] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#else
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#endif
}

/// Adds the bias and returns the maximum. `rest` elements are left after whole vectors up to `whole`.
template <class D, class T>
HWY_INLINE T AddAndFindMaximum(D d, T* row, const T* bias, int64_t whole, size_t rest) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto best = hn::Set(d, -std::numeric_limits<T>::infinity());
  for (int64_t i = 0; i < whole; i += lanes) {
    auto v = hn::LoadU(d, row + i);
    if (bias != nullptr) {
      v = hn::Add(v, hn::LoadU(d, bias + i));
      hn::StoreU(v, d, row + i);
    }
    best = hn::Max(best, v);
  }
  if (rest > 0) {
    auto v = hn::LoadU(d, row + whole);
    if (bias != nullptr) {
      v = hn::Add(v, LoadFirst(d, bias + whole, rest));
      hn::StoreU(v, d, row + whole);
    }
    best = hn::IfThenElse(hn::FirstN(d, rest), hn::Max(best, v), best);
  }
  return hn::GetLane(hn::MaxOfLanes(d, best));
}

template <class T>
void Softmax(const ScoreRows<T>& rows, T* maxima, T* sums) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = rows.keys / lanes * lanes;
  const auto rest = static_cast<size_t>(rows.keys - whole);
  for (int64_t r = 0; r < rows.rows; ++r) {
    T* row = rows.scores + r * rows.stride;
    const T max = AddAndFindMaximum(d, row, rows.bias == nullptr ? nullptr : rows.bias + r * rows.bias_row, whole, rest);
    maxima[r] = max;
    sums[r] = T{0};
    if (max == -std::numeric_limits<T>::infinity()) {
      std::fill_n(row, rows.keys, T{0});
      continue;
    }
    const auto shift = hn::Set(d, max);
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < whole; i += lanes) {
      const auto e = ExpNotPositive(d, hn::Sub(hn::LoadU(d, row + i), shift));
      sum = hn::Add(sum, e);
      hn::StoreU(e, d, row + i);
    }
    if (rest > 0) {
      const auto e = ExpNotPositive(d, hn::Sub(hn::LoadU(d, row + whole), shift));
      sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, rest), e));
      hn::StoreU(e, d, row + whole);
    }
    sums[r] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

template <class T>
void Divide(T* rows, int64_t stride, int64_t count, int64_t width, const T* by) {
  for (int64_t r = 0; r < count; ++r) Scale(rows + r * stride, width, T{1} / by[r]);
}

}  // namespace

#define TESSERA_DEFINE(T, Name)                                                                  \
  void Softcap##Name(T* row, int64_t count, T cap) { Softcap(row, count, cap); }                 \
  void AddTo##Name(T* row, const T* bias, int64_t count) { AddTo(row, bias, count); }            \
  T Largest##Name(const T* row, int64_t count) { return Largest(row, count); }                   \
  T Exponentiate##Name(T* row, int64_t count, T max) { return Exponentiate(row, count, max); }   \
  void Scale##Name(T* row, int64_t count, T factor) { Scale(row, count, factor); }               \
  void Softmax##Name(const ScoreRows<T>& rows, T* maxima, T* sums) { Softmax(rows, maxima, sums); } \
  void Divide##Name(T* rows, int64_t stride, int64_t count, int64_t width, const T* by) { Divide(rows, stride, count, width, by); }
TESSERA_DEFINE(float, Float)
TESSERA_DEFINE(double, Double)
#undef TESSERA_DEFINE

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

#define TESSERA_DISPATCH(T, Name)                              \
  HWY_EXPORT(Softcap##Name);                                   \
  HWY_EXPORT(AddTo##Name);                                     \
  HWY_EXPORT(Largest##Name);                                   \
  HWY_EXPORT(Exponentiate##Name);                              \
  HWY_EXPORT(Scale##Name);                                     \
  HWY_EXPORT(Softmax##Name);                                   \
  HWY_EXPORT(Divide##Name);                                    \
  template <>                                                  \
  void SoftcapRow<T>(T * row, int64_t count, T cap) {          \
    HWY_DYNAMIC_DISPATCH(Softcap##Name)(row, count, cap);      \
  }                                                            \
  template <>                                                  \
  void AddRow<T>(T * row, const T* bias, int64_t count) {      \
    HWY_DYNAMIC_DISPATCH(AddTo##Name)(row, bias, count);       \
  }                                                            \
  template <>                                                  \
  T MaxOfRow<T>(const T* row, int64_t count) {                 \
    return HWY_DYNAMIC_DISPATCH(Largest##Name)(row, count);    \
  }                                                            \
  template <>                                                  \
  T ExpRow<T>(T * row, int64_t count, T max) {                 \
    return HWY_DYNAMIC_DISPATCH(Exponentiate##Name)(row, count, max); \
  }                                                            \
  template <>                                                  \
  void ScaleRow<T>(T * row, int64_t count, T factor) {         \
    HWY_DYNAMIC_DISPATCH(Scale##Name)(row, count, factor);     \
  }                                                            \
  template <>                                                  \
  void SoftmaxRows<T>(const ScoreRows<T>& rows, T* maxima, T* sums) { \
    HWY_DYNAMIC_DISPATCH(Softmax##Name)(rows, maxima, sums);   \
  }                                                            \
  template <>                                                  \
  void DivideRows<T>(T * rows, int64_t stride, int64_t count, int64_t width, const T* by) { \
    HWY_DYNAMIC_DISPATCH(Divide##Name)(rows, stride, count, width, by); \
  }
TESSERA_DISPATCH(float, Float)
TESSERA_DISPATCH(double, Double)
#undef TESSERA_DISPATCH

}  // namespace tessera::cpu
#endif
