// The output stage of tiles of the GEMM of bytes. Included once per target after hwy/highway.h.

#if defined(TESSERA_U8S8_STORE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_U8S8_STORE_INL_H
#undef TESSERA_U8S8_STORE_INL_H
#else
#define TESSERA_U8S8_STORE_INL_H
#endif

#include <algorithm>
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

/// The first `width` of the kWidth quantized values of two rows.
template <class T>
HWY_INLINE void StoreTwoRows(V32 low0, V32 high0, V32 low1, V32 high1, int32_t zero, int64_t width, T* to0, T* to1) {
#if HWY_TARGET == HWY_AVX3
  const __m512i quantized = PackQuantized<T>(low0, high0, low1, high1, zero);
  const auto mask = static_cast<__mmask32>((uint64_t{1} << width) - 1);
  _mm256_mask_storeu_epi8(to0, mask, _mm512_castsi512_si256(quantized));
  _mm256_mask_storeu_epi8(to1, mask, _mm512_extracti64x4_epi64(quantized, 1));
#else
  HWY_ALIGN T rows[2][kWidth];
  T *const row0 = width == kWidth ? to0 : rows[0], *const row1 = width == kWidth ? to1 : rows[1];
#if HWY_TARGET == HWY_AVX2
  const __m256i quantized = PackQuantized<T>(low0, high0, low1, high1, zero);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(row0), _mm256_castsi256_si128(quantized));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(row1), _mm256_extracti128_si256(quantized, 1));
#else
  StoreQuantized(low0, high0, zero, row0);
  StoreQuantized(low1, high1, zero, row1);
#endif
  if (width == kWidth) return;
  // Of a size known here it is no call.
  const auto bytes = static_cast<size_t>(width);
  width == kLanes ? std::memcpy(to0, row0, kLanes) : std::memcpy(to0, row0, bytes);
  width == kLanes ? std::memcpy(to1, row1, kLanes) : std::memcpy(to1, row1, bytes);
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

/// Accumulators of rows whose columns are the output channels of a panel, through the output stage.
class PanelStage {
 public:
  using VF = hn::Vec<DF>;

  /// Output channels [n, n + width).
  PanelStage(const OutputStage& store, int64_t n, int64_t width) : store_(store), n_(n), width_(width) {
    const D32 d32;
    const DF df;
    const bool scaled = store.kind != OutputStage::kAccumulators;
    for (int j = 0; j < 2; ++j) {
      const int64_t at = n + j * kLanes;
      add_[j] = hn::LoadU(d32, store.add + at);
      zeros_[j] = store.weight_zeros == nullptr ? hn::Zero(d32) : hn::LoadU(d32, store.weight_zeros + at);
      scale_[j] = scaled ? hn::LoadU(df, store.scales + at) : hn::Zero(df);
      bias_[j] = store.bias == nullptr ? hn::Zero(df) : hn::LoadU(df, store.bias + at);
    }
  }

  /// Rows from m.
  void Store(const int32_t* accumulators, int64_t m, int64_t rows) const {
    switch (store_.kind) {
      case OutputStage::kUInt8: return StoreQuantizedRows<uint8_t>(accumulators, m, rows);
      case OutputStage::kInt8: return StoreQuantizedRows<int8_t>(accumulators, m, rows);
      case OutputStage::kFloat:
        for (int64_t r = 0; r < rows; ++r, accumulators += kWidth)
          StoreScaled(store_, Scaled(accumulators, m + r, 0), Scaled(accumulators, m + r, 1), At(m + r), width_);
        return;
      case OutputStage::kAccumulators:
        for (int64_t r = 0; r < rows; ++r, accumulators += kWidth) {
          StoreTwoAccumulators(Sum(accumulators, m + r, 0), Sum(accumulators, m + r, 1), width_,
                               static_cast<int32_t*>(store_.data) + At(m + r));
        }
    }
  }

 private:
  int64_t At(int64_t row) const { return row * store_.row + n_; }

  HWY_INLINE V32 Sum(const int32_t* accumulators, int64_t row, int j) const {
    const D32 d32;
    const V32 sum = hn::Add(hn::Load(d32, accumulators + j * kLanes), add_[j]);
    return store_.weight_zeros == nullptr ? sum : hn::Add(sum, hn::Mul(hn::Set(d32, store_.row_sums[row]), zeros_[j]));
  }
  HWY_INLINE VF Scaled(const int32_t* accumulators, int64_t row, int j) const {
    return hn::Add(hn::Mul(hn::ConvertTo(DF(), Sum(accumulators, row, j)), scale_[j]), bias_[j]);
  }
  HWY_INLINE V32 Rounded(const int32_t* accumulators, int64_t row, int j) const {
    return RoundToInt32(Scaled(accumulators, row, j));
  }

  template <class T>
  void StoreQuantizedRows(const int32_t* accumulators, int64_t m, int64_t rows) const {
    T* out = static_cast<T*>(store_.data) + At(m);
    for (int64_t r = 0; r < rows; r += 2, accumulators += 2 * kWidth, out += 2 * store_.row) {
      const int64_t next = r + 1 < rows ? 1 : 0;
      const int32_t* second = accumulators + next * kWidth;
      StoreTwoRows(Rounded(accumulators, m + r, 0), Rounded(accumulators, m + r, 1), Rounded(second, m + r + next, 0),
                   Rounded(second, m + r + next, 1), store_.zero, width_, out, out + next * store_.row);
    }
  }

  const OutputStage& store_;
  const int64_t n_, width_;
  V32 add_[2], zeros_[2];
  VF scale_[2], bias_[2];
};

/// Whole vectors of quantized values of the output channels from `channel`.
template <class T>
void StoreWholeChannels(const OutputStage& store, const int32_t* HWY_RESTRICT accumulators, int64_t channel, int64_t rows,
                        T* HWY_RESTRICT out) {
  const D32 d32;
  const DF df;
  const int32_t* HWY_RESTRICT adds = store.add + channel;
  const float* HWY_RESTRICT scales = store.scales + channel;
  const auto rounded = [&](int64_t r, int j) HWY_ATTR {
    const V32 sum = hn::Add(hn::Load(d32, accumulators + r * kWidth + j * kLanes), hn::Set(d32, adds[r]));
    return RoundToInt32(hn::Mul(hn::ConvertTo(df, sum), hn::Set(df, scales[r])));
  };
  const int64_t step = store.row;
  const int32_t zero = store.zero;
  for (int64_t r = 0; r < rows; r += 2) {
    const int64_t next = std::min(r + 1, rows - 1);
    StoreTwoRows(rounded(r, 0), rounded(r, 1), rounded(next, 0), rounded(next, 1), zero, kWidth, out + r * step,
                 out + next * step);
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
