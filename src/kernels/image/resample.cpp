#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/resample.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/image/resample.h"

#ifndef TESSERA_CONVERTED_TYPES
/// Types that are no numbers to compute in, each with the type that it is computed in.
#define TESSERA_CONVERTED_TYPES(X) \
  X(float, bool)                   \
  X(float, Float16)                \
  X(float, BFloat16)               \
  X(float, int8_t)                 \
  X(float, uint8_t)                \
  X(float, int16_t) X(float, uint16_t) X(double, int32_t) X(double, uint32_t) X(double, int64_t) X(double, uint64_t)
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {

/// kRows: `rows` where it is known, else 0.
template <class T, int kRows>
void RepeatElements(const void* elements, int64_t n, void* rows_of_pairs, int64_t rows) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kRows != 0) rows = kRows;
  const T* x = static_cast<const T*>(elements);
  T* y = static_cast<T*>(rows_of_pairs);
  constexpr int64_t kStep = HWY_LANES(T) / (sizeof(T) < 8 ? 2 : 1);
  const auto repeat = [&](int64_t i) HWY_ATTR {
    if constexpr (sizeof(T) < 8) {  // a wider element has both
      const hn::ScalableTag<hwy::MakeWide<T>> d;
      auto pairs = hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, decltype(d)>(), x + i));
      pairs = hn::Or(pairs, hn::ShiftLeft<8 * sizeof(T)>(pairs));
      for (int64_t r = 0; r < rows; ++r)
        hn::StoreU(hn::BitCast(hn::ScalableTag<T>(), pairs), hn::ScalableTag<T>(), y + 2 * (r * n + i));
    } else {
      const hn::ScalableTag<T> d;
      const auto v = hn::LoadU(d, x + i);
      for (int64_t r = 0; r < rows; ++r) hn::StoreInterleaved2(v, v, d, y + 2 * (r * n + i));
    }
  };
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) repeat(i);
  if (i < n && n >= kStep) return repeat(n - kStep);
  for (; i < n; ++i) {
    for (int64_t r = 0; r < rows; ++r) y[2 * (r * n + i)] = y[2 * (r * n + i) + 1] = x[i];
  }
}

template <class T>
void RepeatElementsTwice(const void* elements, int64_t n, void* rows_of_pairs, int64_t rows) {
  rows == 2 ? RepeatElements<T, 2>(elements, n, rows_of_pairs, rows)
            : RepeatElements<T, 0>(elements, n, rows_of_pairs, rows);
}

RepeatTwice RepeatTwiceOf(size_t bytes) {
  switch (bytes) {
    case 1: return RepeatElementsTwice<uint8_t>;
    case 2: return RepeatElementsTwice<uint16_t>;
    case 4: return RepeatElementsTwice<uint32_t>;
    case 8: return RepeatElementsTwice<uint64_t>;
    default: return nullptr;
  }
}

template <class F>
void RowOfPairs(const F* HWY_RESTRICT row, const int32_t* HWY_RESTRICT first, const F* HWY_RESTRICT weights, int64_t n,
                F* HWY_RESTRICT out) {
  int64_t o = 0;
#if HWY_ARCH_X86
  if constexpr (std::is_same_v<F, float>) {
    // Both taps of an output are adjacent: four pairs are loaded, weighted and added pairwise.
    const auto pairs = [&](int64_t i) {
      const __m128 low = _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + first[i])));
      return _mm_loadh_pi(low, reinterpret_cast<const __m64*>(row + first[i + 1]));
    };
    for (; o + 4 <= n; o += 4) {
      const __m128 left = _mm_mul_ps(pairs(o), _mm_loadu_ps(weights + 2 * o));
      const __m128 right = _mm_mul_ps(pairs(o + 2), _mm_loadu_ps(weights + 2 * o + 4));
      _mm_storeu_ps(out + o, _mm_hadd_ps(left, right));
    }
  }
#endif
  for (; o < n; ++o) out[o] = weights[2 * o] * row[first[o]] + weights[2 * o + 1] * row[first[o] + 1];
}

template <class F>
void RowOfQuads(const F* HWY_RESTRICT row, const int32_t* HWY_RESTRICT first, const F* HWY_RESTRICT weights, int64_t n,
                F* HWY_RESTRICT out) {
  int64_t o = 0;
#if HWY_ARCH_X86
  if constexpr (std::is_same_v<F, float>) {
    const auto quad = [&](int64_t i) { return _mm_mul_ps(_mm_loadu_ps(row + first[i]), _mm_loadu_ps(weights + 4 * i)); };
    for (; o + 4 <= n; o += 4) {
      const __m128 low = _mm_hadd_ps(quad(o), quad(o + 1));
      const __m128 high = _mm_hadd_ps(quad(o + 2), quad(o + 3));
      _mm_storeu_ps(out + o, _mm_hadd_ps(low, high));
    }
  }
#endif
  for (; o < n; ++o) {
    const F* source = row + first[o];
    const F* weight = weights + 4 * o;
    out[o] = (weight[0] * source[0] + weight[1] * source[1]) + (weight[2] * source[2] + weight[3] * source[3]);
  }
}

template <class F>
void RowOfTaps(const F* HWY_RESTRICT row, const int32_t* HWY_RESTRICT first, const F* HWY_RESTRICT weights, int64_t taps,
               int64_t n, F* HWY_RESTRICT out) {
  for (int64_t o = 0; o < n; ++o) {
    const F* source = row + first[o];
    const F* weight = weights + taps * o;
    F sums[4] = {};
    int64_t t = 0;
    for (; t + 4 <= taps; t += 4) {
      for (int j = 0; j < 4; ++j) sums[j] += weight[t + j] * source[t + j];
    }
    F sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (; t < taps; ++t) sum += weight[t] * source[t];
    out[o] = sum;
  }
}

/// Positions of kInner numbers (0: of `inner`).
template <class F, int kInner>
void RowOfBlocks(const F* HWY_RESTRICT row, const int32_t* HWY_RESTRICT first, const F* HWY_RESTRICT weights, int64_t taps,
                 int64_t n, int64_t inner, F* HWY_RESTRICT out) {
  const int64_t width = kInner != 0 ? kInner : inner;
  for (int64_t o = 0; o < n; ++o) {
    const F* source = row + first[o] * width;
    F* target = out + o * width;
    const F* weight = weights + taps * o;
    for (int64_t c = 0; c < width; ++c) target[c] = weight[0] * source[c];
    for (int64_t t = 1; t < taps; ++t) {
      for (int64_t c = 0; c < width; ++c) target[c] += weight[t] * source[t * width + c];
    }
  }
}

template <class F>
void ResampleRow(const F* row, const int32_t* first, const F* weights, int64_t taps, int64_t n, int64_t inner, F* out) {
  switch (inner) {
    case 1:
      if (taps == 2) return RowOfPairs(row, first, weights, n, out);
      if (taps == 4) return RowOfQuads(row, first, weights, n, out);
      return RowOfTaps(row, first, weights, taps, n, out);
    case 3: return RowOfBlocks<F, 3>(row, first, weights, taps, n, inner, out);
    case 4: return RowOfBlocks<F, 4>(row, first, weights, taps, n, inner, out);
    case 8: return RowOfBlocks<F, 8>(row, first, weights, taps, n, inner, out);
    default: return RowOfBlocks<F, 0>(row, first, weights, taps, n, inner, out);
  }
}

template <class F>
void Blend(const F* const* rows, const F* weights, int64_t taps, int64_t n, F* HWY_RESTRICT out) {
  if (taps == 1) {
    const F* HWY_RESTRICT row = rows[0];
    const F weight = weights[0];
    for (int64_t i = 0; i < n; ++i) out[i] = weight * row[i];
    return;
  }
  const F *HWY_RESTRICT row0 = rows[0], *HWY_RESTRICT row1 = rows[1];
  const F weight0 = weights[0], weight1 = weights[1];
  if (taps == 4) {
    const F *HWY_RESTRICT row2 = rows[2], *HWY_RESTRICT row3 = rows[3];
    const F weight2 = weights[2], weight3 = weights[3];
    for (int64_t i = 0; i < n; ++i) {
      out[i] = weight0 * row0[i] + weight1 * row1[i] + weight2 * row2[i] + weight3 * row3[i];
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) out[i] = weight0 * row0[i] + weight1 * row1[i];
  int64_t t = 2;
  for (; t + 2 <= taps; t += 2) {
    const F *HWY_RESTRICT a = rows[t], *HWY_RESTRICT b = rows[t + 1];
    const F weight_a = weights[t], weight_b = weights[t + 1];
    for (int64_t i = 0; i < n; ++i) out[i] += weight_a * a[i] + weight_b * b[i];
  }
  if (t < taps) {
    const F* HWY_RESTRICT a = rows[t];
    for (int64_t i = 0; i < n; ++i) out[i] += weights[t] * a[i];
  }
}

template <class F, class T>
void Load(const void* elements, F* HWY_RESTRICT numbers, int64_t n) {
  const T* HWY_RESTRICT in = static_cast<const T*>(elements);
  for (int64_t i = 0; i < n; ++i) numbers[i] = static_cast<F>(in[i]);
}

template <class F, class T>
void Store(const F* HWY_RESTRICT numbers, void* elements, int64_t n) {
  T* HWY_RESTRICT out = static_cast<T*>(elements);
  if constexpr (std::is_same_v<T, bool>) {
    for (int64_t i = 0; i < n; ++i) out[i] = numbers[i] != 0;
  } else if constexpr (std::is_integral_v<T> && sizeof(T) < 8) {
    constexpr F low = static_cast<F>(std::numeric_limits<T>::min());
    constexpr F high = static_cast<F>(std::numeric_limits<T>::max());
    for (int64_t i = 0; i < n; ++i) {
      // NaN compares false and becomes the lowest value.
      F x = numbers[i] > low ? numbers[i] : low;
      x = x < high ? x : high;
      if constexpr (sizeof(T) < 4) {
        out[i] = static_cast<T>(static_cast<int32_t>(std::nearbyint(x)));
      } else {
        out[i] = static_cast<T>(std::nearbyint(x));
      }
    }
  } else if constexpr (std::is_integral_v<T>) {
    constexpr F high = static_cast<F>(std::numeric_limits<T>::max());  // rounds up to 2^63 or 2^64
    constexpr F low = static_cast<F>(std::numeric_limits<T>::min());
    for (int64_t i = 0; i < n; ++i) {
      const F x = std::nearbyint(numbers[i]);
      out[i] = x >= high ? std::numeric_limits<T>::max() : x > low ? static_cast<T>(x) : std::numeric_limits<T>::min();
    }
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(numbers[i]);
  }
}

template <class F>
const ResampleKernels<F>& Kernels() {
  static constexpr ResampleKernels<F> kernels = {&ResampleRow<F>, &Blend<F>};
  return kernels;
}
const ResampleKernels<float>& ResampleF32() { return Kernels<float>(); }
const ResampleKernels<double>& ResampleF64() { return Kernels<double>(); }

#define TESSERA_CONVERSIONS(F, T)                      \
  ResampleLoad<F> LoadOf_##T() { return &Load<F, T>; } \
  ResampleStore<F> StoreOf_##T() { return &Store<F, T>; }
TESSERA_CONVERTED_TYPES(TESSERA_CONVERSIONS)
#undef TESSERA_CONVERSIONS

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(ResampleF32);
HWY_EXPORT(ResampleF64);
HWY_EXPORT(RepeatTwiceOf);
RepeatTwice FindRepeatTwice(size_t bytes) { return HWY_DYNAMIC_DISPATCH(RepeatTwiceOf)(bytes); }

template <>
const ResampleKernels<float>& GetResampleKernels<float>() {
  return HWY_DYNAMIC_DISPATCH(ResampleF32)();
}
template <>
const ResampleKernels<double>& GetResampleKernels<double>() {
  return HWY_DYNAMIC_DISPATCH(ResampleF64)();
}

#define TESSERA_CONVERSIONS(F, T)               \
  HWY_EXPORT(LoadOf_##T);                       \
  HWY_EXPORT(StoreOf_##T);                      \
  template <>                                   \
  ResampleLoad<F> GetResampleLoad<F, T>() {     \
    return HWY_DYNAMIC_DISPATCH(LoadOf_##T)();  \
  }                                             \
  template <>                                   \
  ResampleStore<F> GetResampleStore<F, T>() {   \
    return HWY_DYNAMIC_DISPATCH(StoreOf_##T)(); \
  }
TESSERA_CONVERTED_TYPES(TESSERA_CONVERSIONS)
#undef TESSERA_CONVERSIONS

}  // namespace tessera::cpu
#endif
