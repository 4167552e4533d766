#include "kernels/quantize/quantize.h"

#include <algorithm>
#include <cmath>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize/quantize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/quantize/quantized_values-inl.h"
#include "kernels/vector/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// The bounds less the zero point are integers, so clamping first changes nothing, and the conversion is always in range.
template <class T>
HWY_INLINE T QuantizeOne(float x, float zero, float low, float high) {
  const float least = low - zero;
  const float most = high - zero;
  x = x > least ? x : least;  // NaN too
  x = x < most ? x : most;
  return static_cast<T>(static_cast<int32_t>(std::nearbyint(x)) + static_cast<int32_t>(zero));
}

/// Vectors with one scale and zero point to bytes; gives how many elements it did.
template <class T>
HWY_INLINE int64_t QuantizeVectors(const float* x, float scale, float zero, float low, float high, T* y, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<T, decltype(d)> d8;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto divisor = hn::Set(d, scale);
  const auto least = hn::Set(d, low - zero);
  const auto most = hn::Set(d, high - zero);
  const auto offset = hn::Set(di, static_cast<int32_t>(zero));
  // The operand order makes NaN the least.
  const auto clamped = [&](int64_t at)
                           HWY_ATTR { return hn::Min(hn::Max(hn::Div(hn::LoadU(d, x + at), divisor), least), most); };
  const auto store = [&](int64_t at) HWY_ATTR {
    hn::StoreU(hn::DemoteTo(d8, hn::Add(hn::NearestInt(clamped(at)), offset)), d8, y + at);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    // Of clamped numbers, which any conversion takes.
    const auto rounded = [&](int64_t at) HWY_ATTR { return RoundToInt32(clamped(at)); };
    StoreQuantized(PackQuantized<T>(rounded(i), rounded(i + lanes), rounded(i + 2 * lanes), rounded(i + 3 * lanes),
                                    static_cast<int32_t>(zero)),
                   y + i);
#else
    store(i);
    store(i + lanes);
    store(i + 2 * lanes);
    store(i + 3 * lanes);
#endif
  }
  for (; i + lanes <= count; i += lanes) store(i);
  if (i == count || count < lanes) return i;
  store(count - lanes);  // some once more
  return count;
}

template <class T>
void Quantize(const float* x, const float* scales, const float* zeros, int64_t step, float low, float high, void* out,
              int64_t count) {
  T* y = static_cast<T*>(out);
  if (step != 0) {
    if (scales == nullptr) {
      for (int64_t i = 0; i < count; ++i) y[i] = QuantizeOne<T>(x[i], zeros[i], low, high);
    } else {
      for (int64_t i = 0; i < count; ++i) y[i] = QuantizeOne<T>(x[i] / scales[i], zeros[i], low, high);
    }
    return;
  }
  const float zero = *zeros;
  const float scale = scales == nullptr ? 1.0f : *scales;
  int64_t i = 0;
  if constexpr (sizeof(T) == 1) i = QuantizeVectors(x, scale, zero, low, high, y, count);
  for (; i < count; ++i) y[i] = QuantizeOne<T>(x[i] / scale, zero, low, high);
}

/// A vector of them.
template <class D, class T>
HWY_INLINE hn::Vec<D> DequantizeVector(D d, const T* x, hn::Vec<D> scale, hn::Vec<D> zero) {
  const auto bytes = hn::LoadU(hn::Rebind<T, D>(), x);
  return hn::Mul(hn::Sub(hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<D>(), bytes)), zero), scale);
}

/// Fewer bytes than fill a vector of twice D's size.
template <class D, class T>
HWY_INLINE void DequantizeFew(D d, const T* x, float scale, float zero, float* y, int64_t count) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  if (count >= kLanes) {
    const auto scales = hn::Set(d, scale), zeros = hn::Set(d, zero);
    for (const int64_t at : {int64_t{0}, count - kLanes}) hn::StoreU(DequantizeVector(d, x + at, scales, zeros), d, y + at);
  } else if constexpr (kLanes > 4) {
    DequantizeFew(hn::Half<D>(), x, scale, zero, y, count);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = (static_cast<float>(x[i]) - zero) * scale;
  }
}

/// Bytes with one scale and zero point, short rows of them too: the planes of small images.
template <class T>
HWY_INLINE void DequantizeBytes(const T* x, float scale, float zero, float* y, int64_t count) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
  if (count < 2 * kLanes) return DequantizeFew(d, x, scale, zero, y, count);
  const auto scales = hn::Set(d, scale), zeros = hn::Set(d, zero);
  const auto wide = [&](const T* from) HWY_ATTR { return DequantizeVector(d, from, scales, zeros); };
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    const auto a = wide(x + i), b = wide(x + i + kLanes), c = wide(x + i + 2 * kLanes), e = wide(x + i + 3 * kLanes);
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + kLanes);
    hn::StoreU(c, d, y + i + 2 * kLanes);
    hn::StoreU(e, d, y + i + 3 * kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(wide(x + i), d, y + i);
  if (i < count) hn::StoreU(wide(x + count - kLanes), d, y + count - kLanes);  // some once more
}

template <class T>
void Dequantize(const void* in, const float* scales, const float* zeros, int64_t step, float* y, int64_t count) {
  const T* x = static_cast<const T*>(in);
  if (step != 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = (static_cast<float>(x[i]) - zeros[i]) * scales[i];
    return;
  }
  const float zero = *zeros;
  const float scale = *scales;
  if constexpr (sizeof(T) == 1) {
    DequantizeBytes(x, scale, zero, y, count);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = (static_cast<float>(x[i]) - zero) * scale;
  }
}

template <class T>
void DequantizePlanes(const void* in, const float* scales, const float* zeros, int64_t planes, float* y, int64_t count) {
  const T* x = static_cast<const T*>(in);
  for (int64_t p = 0; p < planes; ++p) Dequantize<T>(x + p * count, scales + p, zeros + p, 0, y + p * count, count);
}

template <class T>
constexpr DequantizeLoops kDequantizeLoops = {Dequantize<T>, DequantizePlanes<T>};

}  // namespace

QuantizeLoop QuantizeLoopOf(ElementType type) {
  switch (type) {
    case ElementType::kInt8:
    case ElementType::kInt4:
    case ElementType::kInt2: return Quantize<int8_t>;
    case ElementType::kInt16: return Quantize<int16_t>;
    case ElementType::kUInt16: return Quantize<uint16_t>;
    default: return Quantize<uint8_t>;
  }
}

DequantizeLoops DequantizeLoopsOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat: return kDequantizeLoops<float>;
    case ElementType::kInt8: return kDequantizeLoops<int8_t>;
    case ElementType::kUInt8: return kDequantizeLoops<uint8_t>;
    case ElementType::kInt16: return kDequantizeLoops<int16_t>;
    case ElementType::kUInt16: return kDequantizeLoops<uint16_t>;
    default: return {nullptr, nullptr};
  }
}

void Dequantize32(const int32_t* HWY_RESTRICT x, const float* HWY_RESTRICT scales, const int32_t* HWY_RESTRICT zeros,
                  int64_t step, float* HWY_RESTRICT y, int64_t count) {
  if (step != 0) {
    for (int64_t i = 0; i < count; ++i) {
      y[i] = static_cast<float>(static_cast<double>(x[i]) - static_cast<double>(zeros[i])) * scales[i];
    }
    return;
  }
  const float scale = *scales;
  if (*zeros == 0) {
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i]) * scale;
    return;
  }
  const double zero = *zeros;
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(static_cast<double>(x[i]) - zero) * scale;
}

void Divide(const float* x, const float* scales, int64_t step, float* y, int64_t count) {
  if (step != 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] / scales[i];
    return;
  }
  const float scale = *scales;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] / scale;
}

template <class T, bool kMultiplies>
void CombineTyped(const QuantizedArithmetic& how, const T* a, const T* b, T* out, int64_t count) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<T, decltype(df)> d8;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto a_scale = hn::Set(df, how.a_scale), b_scale = hn::Set(df, how.b_scale), offset = hn::Set(df, how.offset);
  const auto a_zero = hn::Set(df, how.a_zero), b_zero = hn::Set(df, how.b_zero);
  const auto zero = hn::Set(di, how.zero);
  const auto real = [&](const T* x, const T* y) HWY_ATTR {
    const auto u = hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(d8, x))),
               v = hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(d8, y)));
    return kMultiplies ? hn::Mul(hn::Mul(hn::Sub(u, a_zero), hn::Sub(v, b_zero)), a_scale)
                       : hn::MulAdd(u, a_scale, hn::MulAdd(v, b_scale, offset));
  };
  const auto one = [&](const T* x, const T* y, T* to) HWY_ATTR {
    // The zero point is added in 32 bits, which must not wrap; the operand order makes NaN the least.
    const auto rounded = RoundToInt32(hn::Max(real(x, y), hn::Set(df, -1e6f)));
    hn::StoreU(hn::DemoteTo(d8, hn::Add(rounded, zero)), d8, to);
  };
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto at = [&](int64_t j) HWY_ATTR { return RoundToInt32(real(a + i + j * lanes, b + i + j * lanes)); };
    StoreQuantized(PackQuantized<T>(at(0), at(1), at(2), at(3), how.zero), out + i);
  }
#endif
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    one(a + i, b + i, out + i);
    one(a + i + lanes, b + i + lanes, out + i + lanes);
  }
  for (; i + lanes <= count; i += lanes) one(a + i, b + i, out + i);
  if (i == count) return;
  T rest[3][HWY_LANES(float)] = {};
  std::copy(a + i, a + count, rest[0]);
  std::copy(b + i, b + count, rest[1]);
  one(rest[0], rest[1], rest[2]);
  std::copy_n(rest[2], count - i, out + i);
}

template <class T>
void CombineAs(const QuantizedArithmetic& how, const void* a, const void* b, void* out, int64_t count) {
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  how.multiplies ? CombineTyped<T, true>(how, left, right, static_cast<T*>(out), count)
                 : CombineTyped<T, false>(how, left, right, static_cast<T*>(out), count);
}

void Combine(const QuantizedArithmetic& how, const void* a, const void* b, void* out, int64_t count) {
  how.is_signed ? CombineAs<int8_t>(how, a, b, out, count) : CombineAs<uint8_t>(how, a, b, out, count);
}

void MinMax(const float* x, int64_t count, float& smallest, float& largest) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int kChains = 4;  // hide the latency of each comparison
  hn::Vec<decltype(d)> low[kChains], high[kChains];
  for (int c = 0; c < kChains; ++c) {
    low[c] = hn::Set(d, smallest);
    high[c] = hn::Set(d, largest);
  }
  int64_t i = 0;
  for (; i + kChains * lanes <= count; i += kChains * lanes) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) {
      const auto v = hn::LoadU(d, x + i + c * lanes);
#if HWY_ARCH_X86  // NaN is left out: these give the second operand then
      low[c] = hn::Min(v, low[c]);
      high[c] = hn::Max(v, high[c]);
#else
      low[c] = hn::IfThenElse(hn::Lt(v, low[c]), v, low[c]);
      high[c] = hn::IfThenElse(hn::Gt(v, high[c]), v, high[c]);
#endif
    }
  }
  smallest = hn::GetLane(hn::MinOfLanes(d, hn::Min(hn::Min(low[0], low[1]), hn::Min(low[2], low[3]))));
  largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(high[0], high[1]), hn::Max(high[2], high[3]))));
  for (; i < count; ++i) {
    smallest = x[i] < smallest ? x[i] : smallest;
    largest = x[i] > largest ? x[i] : largest;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(QuantizeLoopOf);
HWY_EXPORT(DequantizeLoopsOf);
HWY_EXPORT(Dequantize32);
HWY_EXPORT(Divide);
HWY_EXPORT(MinMax);
HWY_EXPORT(Combine);

QuantizeLoop FindQuantizeLoop(ElementType type) { return HWY_DYNAMIC_DISPATCH(QuantizeLoopOf)(type); }
DequantizeLoops FindDequantizeLoops(ElementType type) { return HWY_DYNAMIC_DISPATCH(DequantizeLoopsOf)(type); }
DequantizeLoop FindDequantizeLoop(ElementType type) { return FindDequantizeLoops(type).run; }
void DequantizeInt32(const int32_t* x, const float* scales, const int32_t* zeros, int64_t step, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(Dequantize32)(x, scales, zeros, step, y, count);
}
void DivideByScale(const float* x, const float* scales, int64_t step, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(Divide)(x, scales, step, y, count);
}
void CombineQuantized(const QuantizedArithmetic& how, const void* a, const void* b, void* out, int64_t count) {
  HWY_DYNAMIC_DISPATCH(Combine)(how, a, b, out, count);
}
void JoinMinMax(const float* x, int64_t count, float& smallest, float& largest) {
  HWY_DYNAMIC_DISPATCH(MinMax)(x, count, smallest, largest);
}

}  // namespace tessera::cpu
#endif
