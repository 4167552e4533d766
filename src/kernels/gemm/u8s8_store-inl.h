// The output stage of tiles of the GEMM of bytes. Included once per target after hwy/highway.h.

#if defined(TESSERA_U8S8_STORE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_U8S8_STORE_INL_H
#undef TESSERA_U8S8_STORE_INL_H
#else
#define TESSERA_U8S8_STORE_INL_H
#endif

#include <cstring>
#include <type_traits>

#include "kernels/gemm/gemm_u8s8.h"
#include "kernels/quantize/quantized_values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<int32_t>;
using DF = hn::ScalableTag<float>;
using V32 = hn::Vec<D32>;

constexpr int kLanes = static_cast<int>(HWY_LANES(int32_t));
constexpr int kWidth = 2 * kLanes;

#if HWY_TARGET == HWY_AVX3
/// The first `width` of the kWidth quantized values of two rows.
template <class T>
HWY_INLINE void StoreTwoRows(V32 low0, V32 high0, V32 low1, V32 high1, int32_t zero, int64_t width, T* to0, T* to1) {
  const __m512i quantized = PackQuantized<T>(low0, high0, low1, high1, zero);
  const __m256i row0 = _mm512_castsi512_si256(quantized), row1 = _mm512_extracti64x4_epi64(quantized, 1);
  if (width == kWidth) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to0), row0);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to1), row1);
  } else {
    const auto mask = static_cast<__mmask32>((uint64_t{1} << width) - 1);
    _mm256_mask_storeu_epi8(to0, mask, row0);
    _mm256_mask_storeu_epi8(to1, mask, row1);
  }
}
#endif

/// kWidth quantized values.
template <class T>
HWY_INLINE void StoreQuantized(V32 low, V32 high, int32_t zero, T* to) {
#if HWY_TARGET == HWY_AVX2
  const __m256i pairs =
      _mm256_adds_epi16(_mm256_packs_epi32(low.raw, high.raw), _mm256_set1_epi16(static_cast<int16_t>(zero)));
  const __m256i bytes = std::is_signed_v<T> ? _mm256_packs_epi16(pairs, pairs) : _mm256_packus_epi16(pairs, pairs);
  // Each half holds four values of `low`, then four of `high`.
  const __m128i halves = _mm256_castsi256_si128(_mm256_permute4x64_epi64(bytes, 0x08));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi32(halves, 0xd8));
#elif HWY_TARGET == HWY_AVX3
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(PackQuantized<T>(low, high, low, high, zero)));
#else
  const D32 d32;
  const hn::Rebind<T, D32> quantized;
  const V32 offset = hn::Set(d32, zero);
  hn::StoreU(hn::DemoteTo(quantized, hn::Add(low, offset)), quantized, to);
  hn::StoreU(hn::DemoteTo(quantized, hn::Add(high, offset)), quantized, to + kLanes);
#endif
}

/// kWidth scaled accumulators as floats or quantized values, `width` of them to the output.
HWY_INLINE void StoreScaled(const OutputStage& store, hn::Vec<DF> low, hn::Vec<DF> high, int64_t at, int64_t width) {
  const DF df;
  HWY_ALIGN float buffer[kWidth];
  if (store.kind == OutputStage::kFloat) {
    float* to = static_cast<float*>(store.data) + at;
    float* place = width == kWidth ? to : buffer;
    hn::StoreU(low, df, place);
    hn::StoreU(high, df, place + kLanes);
    if (width < kWidth) std::memcpy(to, buffer, static_cast<size_t>(width) * sizeof(float));
    return;
  }
  auto* to = static_cast<uint8_t*>(store.data) + at;
  auto* place = width == kWidth ? to : reinterpret_cast<uint8_t*>(buffer);
  if (store.kind == OutputStage::kInt8) {
    StoreQuantized(RoundToInt32(low), RoundToInt32(high), store.zero, reinterpret_cast<int8_t*>(place));
  } else {
    StoreQuantized(RoundToInt32(low), RoundToInt32(high), store.zero, place);
  }
  if (width < kWidth) std::memcpy(to, place, static_cast<size_t>(width));
}

/// `width` of kWidth accumulators.
HWY_INLINE void StoreTwoAccumulators(V32 low, V32 high, int64_t width, int32_t* to) {
  const D32 d32;
  if (width == kWidth) {
    hn::StoreU(low, d32, to);
    hn::StoreU(high, d32, to + kLanes);
    return;
  }
  HWY_ALIGN int32_t row[kWidth];
  hn::Store(low, d32, row);
  hn::Store(high, d32, row + kLanes);
  std::memcpy(to, row, static_cast<size_t>(width) * sizeof(int32_t));
}

/// A tile whose columns are output channels [n, n + width), rows from m.
inline void StoreRows(const OutputStage& store, const int32_t* accumulators, int64_t m, int64_t rows, int64_t n,
                      int64_t width) {
  const D32 d32;
  const DF df;
  const V32 add0 = hn::LoadU(d32, store.add + n), add1 = hn::LoadU(d32, store.add + n + kLanes);
  const bool plain = store.kind == OutputStage::kAccumulators;
  const auto scale0 = plain ? hn::Zero(df) : hn::LoadU(df, store.scales + n),
             scale1 = plain ? scale0 : hn::LoadU(df, store.scales + n + kLanes);
  for (int64_t r = 0; r < rows; ++r) {
    V32 sum0 = hn::Add(hn::Load(d32, accumulators + r * kWidth), add0),
        sum1 = hn::Add(hn::Load(d32, accumulators + r * kWidth + kLanes), add1);
    if (store.weight_zeros != nullptr) {
      const V32 row = hn::Set(d32, store.row_sums[m + r]);
      sum0 = hn::Add(sum0, hn::Mul(row, hn::LoadU(d32, store.weight_zeros + n)));
      sum1 = hn::Add(sum1, hn::Mul(row, hn::LoadU(d32, store.weight_zeros + n + kLanes)));
    }
    if (plain) {
      StoreTwoAccumulators(sum0, sum1, width, static_cast<int32_t*>(store.data) + (m + r) * store.row + n);
      continue;
    }
    auto low = hn::Mul(hn::ConvertTo(df, sum0), scale0), high = hn::Mul(hn::ConvertTo(df, sum1), scale1);
    if (store.bias != nullptr) {
      low = hn::Add(low, hn::LoadU(df, store.bias + n));
      high = hn::Add(high, hn::LoadU(df, store.bias + n + kLanes));
    }
    StoreScaled(store, low, high, (m + r) * store.row + n, width);
  }
}

/// Whole vectors of quantized values of the output channels from `channel`.
template <class T>
void StoreWholeChannels(const OutputStage& store, const int32_t* HWY_RESTRICT accumulators, int64_t channel, int64_t rows,
                        T* HWY_RESTRICT out) {
  const D32 d32;
  const DF df;
  const int32_t* HWY_RESTRICT adds = store.add + channel;
  const float* HWY_RESTRICT scales = store.scales + channel;
  const int64_t step = store.row;
  const int32_t zero = store.zero;
  for (int64_t r = 0; r < rows; ++r, accumulators += kWidth, out += step) {
    const V32 add = hn::Set(d32, adds[r]);
    const auto scale = hn::Set(df, scales[r]);
    const auto low = hn::ConvertTo(df, hn::Add(hn::Load(d32, accumulators), add)),
               high = hn::ConvertTo(df, hn::Add(hn::Load(d32, accumulators + kLanes), add));
    StoreQuantized(RoundToInt32(hn::Mul(low, scale)), RoundToInt32(hn::Mul(high, scale)), zero, out);
  }
}

/// The accumulators themselves, `width` of the kWidth of each output channel.
inline void StoreChannelAccumulators(const OutputStage& store, const int32_t* accumulators, int64_t channel, int64_t rows,
                                     int64_t n, int64_t width) {
  const D32 d32;
  for (int64_t r = 0; r < rows; ++r, accumulators += kWidth) {
    const V32 add = hn::Set(d32, store.add[channel + r]);
    const V32 low = hn::Add(hn::Load(d32, accumulators), add), high = hn::Add(hn::Load(d32, accumulators + kLanes), add);
    StoreTwoAccumulators(low, high, width, static_cast<int32_t*>(store.data) + (channel + r) * store.row + n);
  }
}

/// A tile whose rows are output channels from `channel`, columns pixels [n, n + width).
inline void StoreChannels(const OutputStage& store, const int32_t* accumulators, int64_t channel, int64_t rows, int64_t n,
                          int64_t width) {
  const D32 d32;
  const DF df;
  if (width == kWidth && store.kind == OutputStage::kUInt8)
    return StoreWholeChannels(store, accumulators, channel, rows,
                              static_cast<uint8_t*>(store.data) + channel * store.row + n);
  if (width == kWidth && store.kind == OutputStage::kInt8)
    return StoreWholeChannels(store, accumulators, channel, rows,
                              static_cast<int8_t*>(store.data) + channel * store.row + n);
  if (store.kind == OutputStage::kAccumulators)
    return StoreChannelAccumulators(store, accumulators, channel, rows, n, width);
  for (int64_t r = 0; r < rows; ++r) {
    const V32 add = hn::Set(d32, store.add[channel + r]);
    const auto scale = hn::Set(df, store.scales[channel + r]);
    const auto low = hn::ConvertTo(df, hn::Add(hn::Load(d32, accumulators + r * kWidth), add));
    const auto high = hn::ConvertTo(df, hn::Add(hn::Load(d32, accumulators + r * kWidth + kLanes), add));
    StoreScaled(store, hn::Mul(low, scale), hn::Mul(high, scale), (channel + r) * store.row + n, width);
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
