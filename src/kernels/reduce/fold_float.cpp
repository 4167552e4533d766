// Folds of float and double.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/fold_float.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/exp-inl.h"
#include "kernels/reduce/fold.h"
#include "kernels/vector/load_first-inl.h"
#include "kernels/vector/nan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <Fold F, class D, class V>
HWY_INLINE V Map(D d, V x, V shift) {
  if constexpr (F == Fold::kSumAbs) {
    return hn::Abs(x);
  } else if constexpr (F == Fold::kSumSquare) {
    return hn::Mul(x, x);
  } else if constexpr (F == Fold::kSumExp) {
    return ExpAny(d, hn::Sub(x, shift));
  } else if constexpr (F == Fold::kSumSquareCentered) {
    const V centered = hn::Sub(x, shift);
    return hn::Mul(centered, centered);
  } else {
    return x;
  }
}

template <Fold F, class D, class V>
HWY_INLINE V Join(D, V a, V b) {
  if constexpr (F == Fold::kMax) {
    return hn::IfThenElse(hn::Or(hn::Gt(b, a), NanLanes(b)), b, a);
  } else if constexpr (F == Fold::kMin) {
    return hn::IfThenElse(hn::Or(hn::Lt(b, a), NanLanes(b)), b, a);
  } else if constexpr (F == Fold::kProd) {
    return hn::Mul(a, b);
  } else {
    return hn::Add(a, b);
  }
}

template <Fold F>
constexpr bool kHasShift = F == Fold::kSumExp || F == Fold::kSumSquareCentered;

/// Of numbers none of which is NaN.
template <Fold F, class V>
HWY_INLINE V Extreme(V a, V b) {
  return F == Fold::kMax ? hn::Max(a, b) : hn::Min(a, b);
}

template <Fold F, class D>
HWY_INLINE hn::TFromD<D> ExtremeOfLanes(D d, hn::Vec<D> v) {
  return hn::GetLane(F == Fold::kMax ? hn::MaxOfLanes(d, v) : hn::MinOfLanes(d, v));
}

/// The maximum or minimum of four vectors' worth of elements or more. Sums reveal NaNs (and infinities of both signs) on
/// the way, which costs less than to carry them along.
template <Fold F, class T>
HWY_INLINE Wide<T> ExtremeOfBlock(const T* HWY_RESTRICT x, int64_t count) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V a0 = hn::Set(d, FoldIdentity<T>(F)), a1 = a0, a2 = a0, a3 = a0;
  auto nan = NanLanes(a0);
  const auto step = [&](int64_t i) HWY_ATTR {
    const V v0 = hn::LoadU(d, x + i), v1 = hn::LoadU(d, x + i + lanes);
    const V v2 = hn::LoadU(d, x + i + 2 * lanes), v3 = hn::LoadU(d, x + i + 3 * lanes);
    a0 = Extreme<F>(a0, v0);
    a1 = Extreme<F>(a1, v1);
    a2 = Extreme<F>(a2, v2);
    a3 = Extreme<F>(a3, v3);
    nan = hn::Or(nan, NanLanes(hn::Add(hn::Add(v0, v1), hn::Add(v2, v3))));
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) step(i);
  if (i < count) step(count - 4 * lanes);  // some of it twice
  if (HWY_UNLIKELY(!hn::AllFalse(d, nan))) {
    Wide<T> total = FoldIdentity<Wide<T>>(F);
    for (i = 0; i < count; ++i) total = JoinFolds<Wide<T>>(F, total, x[i]);
    return total;
  }
  return ExtremeOfLanes<F>(d, Extreme<F>(Extreme<F>(a0, a1), Extreme<F>(a2, a3)));
}

/// The same of fewer elements. Rows as short as these come by the thousand, and a loop over the lanes would cost most of
/// their time.
template <Fold F, class T>
HWY_INLINE Wide<T> ExtremeOfShort(const T* HWY_RESTRICT x, int64_t count) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V all = hn::Set(d, FoldIdentity<T>(F));
  auto nan = NanLanes(all);
  const auto step = [&](V v) HWY_ATTR {
    all = Extreme<F>(all, v);
    nan = hn::Or(nan, NanLanes(v));
  };
  if (count < lanes) {
    step(hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(count)), LoadFirst(d, x, count), all));
  } else {
    for (int64_t i = 0; i + lanes <= count; i += lanes) step(hn::LoadU(d, x + i));
    step(hn::LoadU(d, x + count - lanes));  // some of it twice
  }
  if (HWY_UNLIKELY(!hn::AllFalse(d, nan))) return std::numeric_limits<Wide<T>>::quiet_NaN();
  return ExtremeOfLanes<F>(d, all);
}

/// The sum of the lanes, in double.
template <class D, class V>
HWY_INLINE double SumOf(D d, V lanes) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::GetLane(hn::SumOfLanes(d, lanes));
  } else {
    const hn::Repartition<double, D> wide;
    const hn::Half<D> half;
    const auto upper = hn::PromoteTo(wide, hn::UpperHalf(half, lanes)),
               lower = hn::PromoteTo(wide, hn::LowerHalf(half, lanes));
    return hn::GetLane(hn::SumOfLanes(wide, hn::Add(lower, upper)));
  }
}

/// Up to kBlock elements: short enough that lanes of floats lose no accuracy.
template <Fold F, class T>
HWY_INLINE Wide<T> FoldBlock(const T* HWY_RESTRICT x, int64_t count, T shift_value) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (F == Fold::kMax || F == Fold::kMin) {
    return count >= 4 * lanes ? ExtremeOfBlock<F>(x, count) : ExtremeOfShort<F>(x, count);
  }
  const V shift = hn::Set(d, shift_value);
  const T identity = FoldIdentity<T>(F);
  V a0 = hn::Set(d, identity), a1 = a0, a2 = a0, a3 = a0;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a0 = Join<F>(d, a0, Map<F>(d, hn::LoadU(d, x + i), shift));
    a1 = Join<F>(d, a1, Map<F>(d, hn::LoadU(d, x + i + lanes), shift));
    a2 = Join<F>(d, a2, Map<F>(d, hn::LoadU(d, x + i + 2 * lanes), shift));
    a3 = Join<F>(d, a3, Map<F>(d, hn::LoadU(d, x + i + 3 * lanes), shift));
  }
  for (; i + lanes <= count; i += lanes) a0 = Join<F>(d, a0, Map<F>(d, hn::LoadU(d, x + i), shift));
  if (i < count) {
    const int64_t rest = count - i;
    const bool back = count >= lanes;  // the last vector's worth, some of it again
    const auto valid =
        back ? hn::Not(hn::FirstN(d, static_cast<size_t>(lanes - rest))) : hn::FirstN(d, static_cast<size_t>(rest));
    const V last = back ? hn::LoadU(d, x + count - lanes) : LoadFirst(d, x, count);
    a1 = Join<F>(d, a1, hn::IfThenElse(valid, Map<F>(d, last, shift), hn::Set(d, identity)));
  }
  const V all = Join<F>(d, Join<F>(d, a0, a1), Join<F>(d, a2, a3));
  if constexpr (F != Fold::kProd) return SumOf(d, all);
  HWY_ALIGN T lane[HWY_LANES(T)];
  hn::Store(all, d, lane);
  Wide<T> total = lane[0];
  for (int64_t j = 1; j < lanes; ++j) total = JoinFolds<Wide<T>>(F, total, lane[j]);
  return total;
}

template <Fold F, class T>
HWY_INLINE Wide<T> FoldShort(const T* HWY_RESTRICT x, int64_t count) {
  Wide<T> total = FoldIdentity<Wide<T>>(F);
  for (int64_t i = 0; i < count; ++i) {
    const Wide<T> v = x[i];
    total = JoinFolds<Wide<T>>(F, total, F == Fold::kSumAbs ? std::abs(v) : F == Fold::kSumSquare ? v * v : v);
  }
  return total;
}

template <Fold F, class T>
void FoldRows(const T* x, int64_t rows, int64_t stride, int64_t count, const T* shift, Wide<T>* acc) {
  constexpr int64_t kBlock = 4096;
  for (int64_t i = 0; i < rows; ++i) {
    const T* row = x + i * stride;
    if constexpr (!kHasShift<F>) {
      if (count < 8) {
        acc[i] = JoinFolds<Wide<T>>(F, acc[i], FoldShort<F>(row, count));
        continue;
      }
    }
    const T row_shift = kHasShift<F> ? shift[i] : T{0};
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      acc[i] = JoinFolds<Wide<T>>(F, acc[i], FoldBlock<F>(row + begin, std::min(kBlock, count - begin), row_shift));
    }
  }
}

/// Joins `rows` rows into part[]. Four rows at a time, so that the partial results are loaded and stored seldom.
template <Fold F, class T>
HWY_INLINE void FoldColumnBlock(const T* HWY_RESTRICT x, int64_t rows, int64_t stride, int64_t columns,
                                const T* HWY_RESTRICT shift, T* HWY_RESTRICT part) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t vectors = columns / lanes * lanes;
  const V identity = hn::Set(d, FoldIdentity<T>(F));
  const V none = hn::Zero(d);
  for (int64_t j = 0; j < vectors; j += lanes) hn::StoreU(identity, d, part + j);
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    const T* r0 = x + i * stride;
    const T* r1 = r0 + stride;
    const T* r2 = r1 + stride;
    const T* r3 = r2 + stride;
    for (int64_t j = 0; j < vectors; j += lanes) {
      const V s = kHasShift<F> ? hn::LoadU(d, shift + j) : none;
      const V lower = Join<F>(d, Map<F>(d, hn::LoadU(d, r0 + j), s), Map<F>(d, hn::LoadU(d, r1 + j), s));
      const V upper = Join<F>(d, Map<F>(d, hn::LoadU(d, r2 + j), s), Map<F>(d, hn::LoadU(d, r3 + j), s));
      hn::StoreU(Join<F>(d, hn::LoadU(d, part + j), Join<F>(d, lower, upper)), d, part + j);
    }
  }
  for (; i < rows; ++i) {
    for (int64_t j = 0; j < vectors; j += lanes) {
      const V s = kHasShift<F> ? hn::LoadU(d, shift + j) : none;
      hn::StoreU(Join<F>(d, hn::LoadU(d, part + j), Map<F>(d, hn::LoadU(d, x + i * stride + j), s)), d, part + j);
    }
  }
  if (vectors == columns) return;
  // The last columns, as one vector padded with neutral lanes.
  V sum = identity;
  HWY_ALIGN T rest[HWY_LANES(T)] = {};
  const int64_t tail = columns - vectors;
  HWY_ALIGN T shifts[HWY_LANES(T)] = {};
  if (kHasShift<F>) std::copy_n(shift + vectors, tail, shifts);
  for (i = 0; i < rows; ++i) {
    std::copy_n(x + i * stride + vectors, tail, rest);
    sum = Join<F>(d, sum, Map<F>(d, hn::Load(d, rest), hn::Load(d, shifts)));
  }
  hn::Store(sum, d, rest);
  std::copy_n(rest, tail, part + vectors);
}

template <Fold F, class T>
void FoldColumns(const T* x, int64_t rows, int64_t stride, int64_t columns, const T* shift, Wide<T>* acc) {
  constexpr int64_t kRowBlock = 256;
  HWY_ALIGN T part[kFoldColumns];
  for (int64_t begin = 0; begin < rows; begin += kRowBlock) {
    FoldColumnBlock<F>(x + begin * stride, std::min(kRowBlock, rows - begin), stride, columns, shift, part);
    for (int64_t j = 0; j < columns; ++j) acc[j] = JoinFolds<Wide<T>>(F, acc[j], part[j]);
  }
}

template <Fold F, class T>
constexpr FoldKernels<T> Pair() {
  return {FoldRows<F, T>, FoldColumns<F, T>};
}

template <class T>
FoldTable<T> Table() {
  return {
      Pair<Fold::kSum, T>(), Pair<Fold::kSumAbs, T>(), Pair<Fold::kSumSquare, T>(), Pair<Fold::kProd, T>(),
      Pair<Fold::kMax, T>(), Pair<Fold::kMin, T>(),    Pair<Fold::kSumExp, T>(),    Pair<Fold::kSumSquareCentered, T>()};
}

}  // namespace

FoldTable<float> FoldTableF32() { return Table<float>(); }
FoldTable<double> FoldTableF64() { return Table<double>(); }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(FoldTableF32);
HWY_EXPORT(FoldTableF64);

template <>
const FoldKernels<float>& FoldKernelsOf<float>(Fold fold) {
  static const FoldTable<float> table = HWY_DYNAMIC_DISPATCH(FoldTableF32)();
  return table[static_cast<size_t>(fold)];
}
template <>
const FoldKernels<double>& FoldKernelsOf<double>(Fold fold) {
  static const FoldTable<double> table = HWY_DYNAMIC_DISPATCH(FoldTableF64)();
  return table[static_cast<size_t>(fold)];
}

}  // namespace tessera::cpu
#endif
