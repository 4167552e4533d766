// Moments of rows, and the affine maps that follow them.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize/normalize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/normalize/moments.h"
#include "kernels/normalize/normalize.h"
#include "kernels/vector/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kBlock = 4096;  // elements summed in the element's type before the sum widens

/// Sum of x, or of (x - shift)^2.
template <bool kSquares, class T>
HWY_INLINE double SumBlock(const T* HWY_RESTRICT x, int64_t count, T shift_value) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto shift = hn::Set(d, shift_value);
  auto a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0;
  const auto add = [&](auto acc, const T* at) HWY_ATTR {
    const auto v = hn::LoadU(d, at);
    if constexpr (kSquares) {
      const auto centered = hn::Sub(v, shift);
      return hn::MulAdd(centered, centered, acc);
    } else {
      return hn::Add(acc, v);
    }
  };
  const auto add_first = [&](auto acc, const T* at, int64_t n) HWY_ATTR {
    const auto v = LoadFirst(d, at, n);
    if constexpr (kSquares) {
      const auto centered = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n)), hn::Sub(v, shift));
      return hn::MulAdd(centered, centered, acc);
    } else {
      return hn::Add(acc, v);
    }
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a0 = add(a0, x + i);
    a1 = add(a1, x + i + lanes);
    a2 = add(a2, x + i + 2 * lanes);
    a3 = add(a3, x + i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes) a0 = add(a0, x + i);
  if (i < count) a1 = add_first(a1, x + i, count - i);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3))));
}

template <bool kSquares, class T>
HWY_INLINE double Sum(const T* x, int64_t count, T shift) {
  double total = 0;
  for (int64_t i = 0; i < count; i += kBlock) total += SumBlock<kSquares>(x + i, std::min(kBlock, count - i), shift);
  return total;
}

template <class T>
void FindMoments(const T* x, int64_t count, double* mean, double* squares) {
  *mean = Sum<false>(x, count, T{0}) / static_cast<double>(count);
  const T shift = static_cast<T>(*mean);
  *squares = SquaresAboutMean(Sum<true>(x, count, shift), *mean, static_cast<double>(shift), static_cast<double>(count));
}

template <class T>
double SumSquares(const T* x, int64_t count) {
  return Sum<true>(x, count, T{0});
}

// y may be x in what follows, so there is no restrict; each loop reads an element before it writes it.
/// Fewer elements than fill a vector of twice D's size: both ends are read before either is written.
template <class D, class T>
HWY_INLINE void AffineFew(D d, const T* x, T* y, int64_t count, T mean, T a, T b) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  if (count >= kLanes) {
    const auto map = [&](auto v)
                         HWY_ATTR { return hn::MulAdd(hn::Sub(v, hn::Set(d, mean)), hn::Set(d, a), hn::Set(d, b)); };
    const int64_t last = count - kLanes;
    const auto begin = map(hn::LoadU(d, x)), end = map(hn::LoadU(d, x + last));
    hn::StoreU(begin, d, y);
    hn::StoreU(end, d, y + last);
  } else if constexpr (kLanes > 1) {
    AffineFew(hn::Half<D>(), x, y, count, mean, a, b);
  }
}

template <class T>
void Affine(const T* x, T* y, int64_t count, T mean, T a, T b) {
  const hn::ScalableTag<T> d;
  const auto means = hn::Set(d, mean), factors = hn::Set(d, a), offsets = hn::Set(d, b);
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(T));
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += kLanes) {
    hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, x + i), means), factors, offsets), d, y + i);
  }
  AffineFew(d, x + i, y + i, count - i, mean, a, b);
}

template <class T>
void AffineEach(const T* x, T* y, int64_t count, const T* mean, const T* a, const T* b) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean[i]) * a[i] + b[i];
}

/// Aligned because where its short loops begin among the lines of instructions is worth a tenth of LayerNormalization.
template <class T>
[[gnu::aligned(64)]] void Standardize(const T* x, T* y, int64_t count, T mean, T inverse, const T* scale, const T* bias) {
  if (scale != nullptr && bias != nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
  } else if (scale != nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * inverse * scale[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * inverse;
  }
}

/// 1 / sqrt(squares / count + epsilon) of kAbreast rows, in place.
constexpr int64_t kAbreast = 8;
HWY_INLINE void Invert(double* squares, int64_t count, double epsilon) {
  const hn::CappedTag<double, kAbreast> d;
  for (size_t i = 0; i < kAbreast; i += hn::Lanes(d)) {
    const auto variance = hn::Div(hn::Load(d, squares + i), hn::Set(d, static_cast<double>(count)));
    hn::Store(hn::Div(hn::Set(d, 1.0), hn::Sqrt(hn::Add(variance, hn::Set(d, epsilon)))), d, squares + i);
  }
}

template <class T>
void StandardizeRows(const T* x, T* y, int64_t rows, int64_t count, bool center, double epsilon, const T* scale,
                     const T* bias) {
  const double share = 1 / static_cast<double>(count);
  HWY_ALIGN double squares[kAbreast] = {};
  double means[kAbreast] = {};
  for (int64_t first = 0; first < rows; first += kAbreast, x += kAbreast * count, y += kAbreast * count) {
    const int64_t n = std::min(kAbreast, rows - first);
    if (center) {
      for (int64_t r = 0; r < n; ++r) means[r] = Sum<false>(x + r * count, count, T{0}) * share;
    }
    for (int64_t r = 0; r < n; ++r) {
      const T shift = static_cast<T>(means[r]);
      squares[r] = Sum<true>(x + r * count, count, shift);
      if (center)
        squares[r] = SquaresAboutMean(squares[r], means[r], static_cast<double>(shift), static_cast<double>(count));
    }
    Invert(squares, count, epsilon);
    for (int64_t r = 0; r < n; ++r) {
      Standardize(x + r * count, y + r * count, count, static_cast<T>(means[r]), static_cast<T>(squares[r]), scale, bias);
    }
  }
}

template <class T>
void AffinePlanes(const T* x, T* y, int64_t planes, int64_t count, const T* mean, const T* a, const T* b) {
  if (count == 1) return AffineEach(x, y, planes, mean, a, b);
  for (int64_t p = 0; p < planes; ++p) Affine(x + p * count, y + p * count, count, mean[p], a[p], b[p]);
}

template <class T>
void StandardizePlanes(const T* x, T* y, int64_t planes, int64_t count, double epsilon, const T* scale, const T* bias) {
  const double share = 1 / static_cast<double>(count);
  HWY_ALIGN double inverse[kAbreast] = {};
  double means[kAbreast];
  for (int64_t first = 0; first < planes; first += kAbreast, x += kAbreast * count, y += kAbreast * count) {
    const int64_t n = std::min(kAbreast, planes - first);
    for (int64_t p = 0; p < n; ++p) {
      means[p] = Sum<false>(x + p * count, count, T{0}) * share;
      const T shift = static_cast<T>(means[p]);
      inverse[p] = SquaresAboutMean(Sum<true>(x + p * count, count, shift), means[p], static_cast<double>(shift),
                                    static_cast<double>(count));
    }
    Invert(inverse, count, epsilon);
    for (int64_t p = 0; p < n; ++p) {
      const T a = static_cast<T>(static_cast<double>(scale[first + p]) * inverse[p]);
      Affine(x + p * count, y + p * count, count, static_cast<T>(means[p]), a, bias[first + p]);
    }
  }
}

template <class T>
NormalizeKernels<T> Table() {
  return {FindMoments<T>, SumSquares<T>,      Affine<T>,       AffineEach<T>,
          Standardize<T>, StandardizeRows<T>, AffinePlanes<T>, StandardizePlanes<T>};
}

}  // namespace

NormalizeKernels<float> NormalizeTableF32() { return Table<float>(); }
NormalizeKernels<double> NormalizeTableF64() { return Table<double>(); }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(NormalizeTableF32);
HWY_EXPORT(NormalizeTableF64);

template <>
const NormalizeKernels<float>& NormalizeKernelsOf<float>() {
  static const auto table = HWY_DYNAMIC_DISPATCH(NormalizeTableF32)();
  return table;
}
template <>
const NormalizeKernels<double>& NormalizeKernelsOf<double>() {
  static const auto table = HWY_DYNAMIC_DISPATCH(NormalizeTableF64)();
  return table;
}

}  // namespace tessera::cpu
#endif
