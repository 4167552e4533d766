// Rows of attention scores.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/rounding.h"
#include "kernels/attention/attention.h"
#include "kernels/elementwise/exp-inl.h"
#include "kernels/vector/nan-inl.h"

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
  return hn::IfThenElse(NanLanes(x), x, y);
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

/// Elements [from, from + lanes) of `row` where `mask` is set; only those are read.
template <class D, class M>
HWY_INLINE hn::Vec<D> LoadSome(D d, M mask, const hn::TFromD<D>* row) {
#if HWY_MEM_OPS_MIGHT_FAULT
  using T = hn::TFromD<D>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN T chosen[HWY_LANES(T)], some[HWY_LANES(T)];
  hn::Store(hn::IfThenElseZero(mask, hn::Set(d, T{1})), d, chosen);
  for (int64_t i = 0; i < lanes; ++i) some[i] = chosen[i] != T{0} ? row[i] : T{0};
  return hn::Load(d, some);
#else
  return hn::MaskedLoad(mask, d, row);
#endif
}

/// visit(i, mask) for each vector of a row that holds some of [begin, end), from element i, a multiple of the lanes; `mask`
/// is std::true_type where it holds nothing else.
template <class D, class Visit>
HWY_INLINE void ForSpan(D d, int64_t begin, int64_t end, Visit&& visit) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = begin - begin % lanes;
  const auto edge = [&]() HWY_ATTR {
    const auto before = hn::FirstN(d, static_cast<size_t>(std::max<int64_t>(begin - i, 0)));
    visit(i, hn::AndNot(before, hn::FirstN(d, static_cast<size_t>(std::min(end - i, lanes)))));
    i += lanes;
  };
  if (i < begin) edge();
  for (; i + lanes <= end; i += lanes) visit(i, std::true_type());
  if (i < end) edge();
}

/// The greatest of [begin, end) and `max`, after the bias is added. A NaN is lost here; the exponentials bring it back.
template <class T>
HWY_INLINE T AddAndMax(T* row, int64_t begin, int64_t end, const T* bias, T max) {
  const hn::ScalableTag<T> d;
  const auto least = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto best = least;
  if (bias == nullptr) {
    ForSpan(d, begin, end, [&](int64_t i, auto mask) HWY_ATTR {
      const auto v = hn::LoadU(d, row + i);
      if constexpr (std::is_same_v<decltype(mask), std::true_type>) best = hn::Max(v, best);
      else best = hn::Max(hn::IfThenElse(mask, v, least), best);
    });
  } else {
    ForSpan(d, begin, end, [&](int64_t i, auto mask) HWY_ATTR {
      const auto v = hn::LoadU(d, row + i);
      if constexpr (std::is_same_v<decltype(mask), std::true_type>) {
        const auto sum = hn::Add(v, hn::LoadU(d, bias + i));
        best = hn::Max(sum, best);
        hn::StoreU(sum, d, row + i);
      } else {
        const auto sum = hn::Add(v, LoadSome(d, mask, bias + i));
        best = hn::Max(hn::IfThenElse(mask, sum, least), best);
        hn::StoreU(sum, d, row + i);
      }
    });
  }
  const T top = hn::GetLane(hn::MaxOfLanes(d, best));
  return top > max ? top : max;
}

/// Exponentials of scores [begin, end), zeros for the others.
template <class T>
HWY_INLINE void Exponentiate(ScoreRow<T>& row, T* scores, int64_t stride, int64_t begin, int64_t end, T before) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto shift = hn::Set(d, row.max == -std::numeric_limits<T>::infinity() ? T{0} : row.max);
  auto sum = hn::Zero(d);
  for (int64_t i = 0; i + lanes <= begin; i += lanes) hn::StoreU(hn::Zero(d), d, scores + i);
  ForSpan(d, begin, end, [&](int64_t i, auto mask) HWY_ATTR {
    auto e = ExpNotPositive(d, hn::Sub(hn::LoadU(d, scores + i), shift));
    if constexpr (!std::is_same_v<decltype(mask), std::true_type>) e = hn::IfThenElseZero(mask, e);
    sum = hn::Add(sum, e);
    hn::StoreU(e, d, scores + i);
  });
  for (int64_t i = RoundUp(end, lanes); i < stride; i += lanes) hn::StoreU(hn::Zero(d), d, scores + i);
  row.rescale = before == row.max ? T{1} : hn::GetLane(ExpNotPositive(d, hn::Sub(hn::Set(d, before), shift)));
  row.sum = row.sum * row.rescale + hn::GetLane(hn::SumOfLanes(d, sum));
}

/// First the greatest of several rows, then their exponentials: within a row each waits for the other.
template <class T>
void Softmax(ScoreRow<T>* rows, int64_t count, T* scores, int64_t stride, int64_t k0, int64_t keys) {
  constexpr int64_t kTogether = 16;
  T before[kTogether];
  int64_t begin[kTogether], end[kTogether];
  for (int64_t i = 0; i < count; i += kTogether, rows += kTogether, scores += kTogether * stride) {
    const int64_t some = std::min(kTogether, count - i);
    for (int64_t j = 0; j < some; ++j) {
      ScoreRow<T>& row = rows[j];
      before[j] = row.max;
      begin[j] = std::clamp<int64_t>(row.begin - k0, 0, keys);
      end[j] = std::clamp<int64_t>(row.end - k0, begin[j], keys);
      row.max = AddAndMax(scores + j * stride, begin[j], end[j], row.bias == nullptr ? nullptr : row.bias + k0, row.max);
    }
    for (int64_t j = 0; j < some; ++j) Exponentiate(rows[j], scores + j * stride, stride, begin[j], end[j], before[j]);
  }
}

/// As whole numbers, magnitudes are in the same order, and infinity and NaN above all.
template <class T>
T Magnitude(const T* numbers, int64_t rows, int64_t stride, int64_t count) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto largest = hn::Zero(bits);
  T result = 0;
  const auto take = [&](T x) { result = result == result && !(x <= result) ? x : result; };
  for (int64_t r = 0; r < rows; ++r, numbers += stride) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
      largest = hn::Max(largest, hn::BitCast(bits, hn::Abs(hn::LoadU(d, numbers + i))));
    for (; i < count; ++i) take(std::abs(numbers[i]));
  }
  T each[HWY_LANES(T)];
  hn::StoreU(hn::BitCast(d, largest), d, each);
  for (int64_t j = 0; j < lanes; ++j) take(each[j]);
  return result;
}

template <class T>
void Scale(T* row, int64_t count, T factor) {
  for (int64_t i = 0; i < count; ++i) row[i] *= factor;
}

}  // namespace

#define TESSERA_DEFINE(T, Name)                                                                               \
  void Softcap##Name(T* row, int64_t count, T cap) { Softcap(row, count, cap); }                              \
  void AddTo##Name(T* row, const T* bias, int64_t count) { AddTo(row, bias, count); }                         \
  void Softmax##Name(ScoreRow<T>* rows, int64_t count, T* scores, int64_t stride, int64_t k0, int64_t keys) { \
    Softmax(rows, count, scores, stride, k0, keys);                                                           \
  }                                                                                                           \
  T Magnitude##Name(const T* numbers, int64_t rows, int64_t stride, int64_t count) {                          \
    return Magnitude(numbers, rows, stride, count);                                                           \
  }                                                                                                           \
  int64_t Lanes##Name() { return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>())); }                     \
  void Scale##Name(T* row, int64_t count, T factor) { Scale(row, count, factor); }
TESSERA_DEFINE(float, Float)
TESSERA_DEFINE(double, Double)
#undef TESSERA_DEFINE

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

#define TESSERA_DISPATCH(T, Name)                                                                               \
  HWY_EXPORT(Softcap##Name);                                                                                    \
  HWY_EXPORT(AddTo##Name);                                                                                      \
  HWY_EXPORT(Softmax##Name);                                                                                    \
  HWY_EXPORT(Lanes##Name);                                                                                      \
  HWY_EXPORT(Magnitude##Name);                                                                                  \
  HWY_EXPORT(Scale##Name);                                                                                      \
  template <>                                                                                                   \
  void SoftcapRow<T>(T * row, int64_t count, T cap) {                                                           \
    HWY_DYNAMIC_DISPATCH(Softcap##Name)(row, count, cap);                                                       \
  }                                                                                                             \
  template <>                                                                                                   \
  void AddRow<T>(T * row, const T* bias, int64_t count) {                                                       \
    HWY_DYNAMIC_DISPATCH(AddTo##Name)(row, bias, count);                                                        \
  }                                                                                                             \
  template <>                                                                                                   \
  void SoftmaxRows<T>(ScoreRow<T> * rows, int64_t count, T* scores, int64_t stride, int64_t k0, int64_t keys) { \
    HWY_DYNAMIC_DISPATCH(Softmax##Name)(rows, count, scores, stride, k0, keys);                                 \
  }                                                                                                             \
  template <>                                                                                                   \
  T LargestMagnitude<T>(const T* numbers, int64_t rows, int64_t stride, int64_t count) {                        \
    return HWY_DYNAMIC_DISPATCH(Magnitude##Name)(numbers, rows, stride, count);                                 \
  }                                                                                                             \
  template <>                                                                                                   \
  int64_t ScoreLanes<T>() {                                                                                     \
    return HWY_DYNAMIC_DISPATCH(Lanes##Name)();                                                                 \
  }                                                                                                             \
  template <>                                                                                                   \
  void ScaleRow<T>(T * row, int64_t count, T factor) {                                                          \
    HWY_DYNAMIC_DISPATCH(Scale##Name)(row, count, factor);                                                      \
  }
TESSERA_DISPATCH(float, Float)
TESSERA_DISPATCH(double, Double)
#undef TESSERA_DISPATCH

}  // namespace tessera::cpu
#endif
