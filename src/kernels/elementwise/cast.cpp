#include "kernels/elementwise/cast.h"

#include <type_traits>

#include "kernels/vector/targets.h"
#include "tessera/numeric.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/cast.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/elementwise/truncate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class To, class From>
inline To Convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return TruncateTo<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void Loop(const void* from, void* to, int64_t count) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = Convert<To>(x[i]);
}

// AVX2 has no conversion between floats and int64. Within 2^51, adding 1.5 * 2^52 to a double leaves the integer in its
// bits.
#if HWY_TARGET == HWY_AVX2
namespace hn = hwy::HWY_NAMESPACE;
constexpr double kMagic = 0x1.8p52;
constexpr int64_t kMagicBits = 0x4338000000000000;

template <>
void Loop<float, int64_t>(const void* from, void* to, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::Half<decltype(d)> half;
  const hn::ScalableTag<double> wide;
  const hn::ScalableTag<int64_t> integers;
  constexpr int64_t kLanes = 8;
  const float* x = static_cast<const float*>(from);
  int64_t* y = static_cast<int64_t*>(to);
  const auto convert = [&](hn::Vec<decltype(half)> v) HWY_ATTR {
    const auto shifted = hn::Add(hn::PromoteTo(wide, v), hn::Set(wide, kMagic));
    return hn::Sub(hn::BitCast(integers, shifted), hn::Set(integers, kMagicBits));
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto v = hn::Trunc(hn::LoadU(d, x + i));
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(hn::Abs(v), hn::Set(d, 0x1p51f))))) {
      for (int64_t k = i; k < i + kLanes; ++k) y[k] = Convert<int64_t>(x[k]);
      continue;
    }
    hn::StoreU(convert(hn::LowerHalf(half, v)), integers, y + i);
    hn::StoreU(convert(hn::UpperHalf(half, v)), integers, y + i + kLanes / 2);
  }
  for (; i < count; ++i) y[i] = Convert<int64_t>(x[i]);
}

template <>
void Loop<int64_t, float>(const void* from, void* to, int64_t count) {
  const hn::ScalableTag<double> wide;
  const hn::ScalableTag<int64_t> integers;
  const hn::Rebind<float, decltype(wide)> narrow;
  constexpr int64_t kLanes = 4;
  const int64_t* x = static_cast<const int64_t*>(from);
  float* y = static_cast<float*>(to);
  const auto limit = hn::Set(integers, int64_t{1} << 51);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto v = hn::LoadU(integers, x + i);
    const auto fits = hn::And(hn::Lt(v, limit), hn::Gt(v, hn::Neg(limit)));
    if (HWY_UNLIKELY(!hn::AllTrue(integers, fits))) {
      for (int64_t k = i; k < i + kLanes; ++k) y[k] = static_cast<float>(x[k]);
      continue;
    }
    const auto shifted = hn::BitCast(wide, hn::Add(v, hn::Set(integers, kMagicBits)));
    hn::StoreU(hn::DemoteTo(narrow, hn::Sub(shifted, hn::Set(wide, kMagic))), narrow, y + i);
  }
  for (; i < count; ++i) y[i] = static_cast<float>(x[i]);
}
#endif

// The compiler's loops to single bytes check ranges that the conversion instruction covers, and pack by masks.
#if HWY_TARGET == HWY_AVX2
/// The bytes of 32 integers from 0 to 255.
inline void StoreBytes(__m256i a, __m256i b, __m256i c, __m256i d, void* y) {
  const __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));  // by 128-bit halves
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(static_cast<__m256i*>(y), _mm256_permutevar8x32_epi32(packed, order));
}

template <>
void Loop<float, uint8_t>(const void* from, void* to, int64_t count) {
  const float* x = static_cast<const float*>(from);
  uint8_t* y = static_cast<uint8_t*>(to);
  const __m256i low = _mm256_set1_epi32(0xff);
  const auto bytes = [&](int64_t i) HWY_ATTR { return _mm256_and_si256(_mm256_cvttps_epi32(_mm256_loadu_ps(x + i)), low); };
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) StoreBytes(bytes(i), bytes(i + 8), bytes(i + 16), bytes(i + 24), y + i);
  for (; i < count; ++i) y[i] = Convert<uint8_t>(x[i]);
}

template <>
void Loop<float, bool>(const void* from, void* to, int64_t count) {
  const float* x = static_cast<const float*>(from);
  bool* y = static_cast<bool*>(to);
  const auto bits = [&](int64_t i) HWY_ATTR {
    const __m256 differs = _mm256_cmp_ps(_mm256_loadu_ps(x + i), _mm256_setzero_ps(), _CMP_NEQ_UQ);
    return _mm256_srli_epi32(_mm256_castps_si256(differs), 31);
  };
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) StoreBytes(bits(i), bits(i + 8), bits(i + 16), bits(i + 24), y + i);
  for (; i < count; ++i) y[i] = Convert<bool>(x[i]);
}
#endif

/// To and from integers of up to 64 bits only the size of the target matters.
template <class From>
CastLoop IntegerLoop(size_t to_size) {
  if (to_size == sizeof(From)) return nullptr;
  switch (to_size) {
    case 1:
      if constexpr (sizeof(From) > 1) return Loop<From, uint8_t>;
      return nullptr;
    case 2:
      if constexpr (sizeof(From) != 2) return Loop<From, uint16_t>;
      return nullptr;
    case 4:
      if constexpr (sizeof(From) != 4) return Loop<From, uint32_t>;
      return nullptr;
    default:
      if constexpr (sizeof(From) != 8) return Loop<From, uint64_t>;
      return nullptr;
  }
}

template <class From>
CastLoop LoopFrom(ElementType to) {
  switch (to) {
    case ElementType::kFloat:
      if constexpr (std::is_same_v<From, float>) return nullptr;
      else return Loop<From, float>;
    case ElementType::kDouble:
      if constexpr (std::is_same_v<From, double>) return nullptr;
      else return Loop<From, double>;
    case ElementType::kBool:
      return Loop<std::conditional_t<std::is_integral_v<From> && sizeof(From) == 1, uint8_t, From>, bool>;
    default: break;
  }
  if constexpr (std::is_integral_v<From>) {
    return IntegerLoop<From>(static_cast<size_t>(BitWidth(to)) / 8);
  } else {
    switch (to) {
      case ElementType::kInt8:
      case ElementType::kUInt8: return Loop<From, uint8_t>;
      case ElementType::kInt16:
      case ElementType::kUInt16: return Loop<From, uint16_t>;
      case ElementType::kInt32: return Loop<From, int32_t>;
      case ElementType::kUInt32: return Loop<From, uint32_t>;
      case ElementType::kInt64: return Loop<From, int64_t>;
      default: return Loop<From, uint64_t>;
    }
  }
}

}  // namespace

CastLoop CastLoopOf(ElementType from, ElementType to) {
  switch (from) {
    case ElementType::kFloat: return LoopFrom<float>(to);
    case ElementType::kDouble: return LoopFrom<double>(to);
    case ElementType::kInt8: return LoopFrom<int8_t>(to);
    case ElementType::kInt16: return LoopFrom<int16_t>(to);
    case ElementType::kInt32: return LoopFrom<int32_t>(to);
    case ElementType::kInt64: return LoopFrom<int64_t>(to);
    case ElementType::kUInt16: return LoopFrom<uint16_t>(to);
    case ElementType::kUInt32: return LoopFrom<uint32_t>(to);
    case ElementType::kUInt64: return LoopFrom<uint64_t>(to);
    default: return LoopFrom<uint8_t>(to);  // bool too
  }
}

void DoublesToOdd(const void* from, void* to, int64_t count) {
  const double* x = static_cast<const double*>(from);
  float* y = static_cast<float*>(to);
  for (int64_t i = 0; i < count; ++i) y[i] = RoundToOdd(x[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(CastLoopOf);
HWY_EXPORT(DoublesToOdd);

CastLoop FindCastLoop(ElementType from, ElementType to) {
  // A bool is a byte of 0 or 1.
  if (from == to || (from == ElementType::kBool && BitWidth(to) == 8)) return nullptr;
  return HWY_DYNAMIC_DISPATCH(CastLoopOf)(from, to);
}

void RoundDoublesToOdd(const void* from, void* to, int64_t count) { HWY_DYNAMIC_DISPATCH(DoublesToOdd)(from, to, count); }

}  // namespace tessera::cpu
#endif
