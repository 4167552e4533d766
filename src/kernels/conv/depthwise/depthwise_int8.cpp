// Convolution of 8-bit images tap by tap.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise/depthwise_int8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/cancellation.h"
#include "kernels/conv/depthwise/depthwise_int8.h"
#include "kernels/conv/depthwise/tap_pairs-inl.h"
#include "kernels/quantize/quantized_values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kPixels = static_cast<int>(HWY_LANES(int16_t));

/// kPixels quantized values of accumulators. `low` and `high` hold every other four, as interleaving left them.
HWY_INLINE void StorePixels(const Int8TapsChannel& channel, hn::Vec<D32> low, hn::Vec<D32> high, uint8_t* out) {
  const hn::ScalableTag<float> df;
  const D16 d16;
  const auto scale = hn::Set(df, channel.scale);
  const auto round = [&](hn::Vec<D32> sum) HWY_ATTR { return RoundToInt32(hn::Mul(hn::ConvertTo(df, sum), scale)); };
  const auto quantized = hn::SaturatedAdd(hn::ReorderDemote2To(d16, round(low), round(high)),
                                          hn::Set(d16, static_cast<int16_t>(channel.zero)));
  const hn::Rebind<uint8_t, D16> d8;
  const hn::RebindToSigned<decltype(d8)> signed_d8;
  const bool is_signed = channel.output == OutputStage::kInt8;
  hn::StoreU(is_signed ? hn::BitCast(d8, hn::DemoteTo(signed_d8, quantized)) : hn::DemoteTo(d8, quantized), d8, out);
}

/// The accumulators themselves.
HWY_INLINE void StorePixels(const Int8TapsChannel& /*channel*/, hn::Vec<D32> low, hn::Vec<D32> high, int32_t* out) {
  const D32 d32;
#if HWY_TARGET == HWY_AVX3
  const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
                second = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  _mm512_storeu_si512(out, _mm512_permutex2var_epi32(low.raw, first, high.raw));
  _mm512_storeu_si512(out + kPixels / 2, _mm512_permutex2var_epi32(low.raw, second, high.raw));
#elif HWY_TARGET == HWY_AVX2
  hn::StoreU(hn::ConcatLowerLower(d32, high, low), d32, out);
  hn::StoreU(hn::ConcatUpperUpper(d32, high, low), d32, out + kPixels / 2);
#else  // vectors of four
  hn::StoreU(low, d32, out);
  hn::StoreU(high, d32, out + kPixels / 2);
#endif
}

/// The taps of a kernel of known size, in pairs, which then stay in registers. Size 0: none.
template <int kTaps>
struct Taps {
  static constexpr int kPairs = (kTaps + 1) / 2;

  explicit Taps(const Int8TapsChannel& channel) {
    for (int p = 0; p < kPairs; ++p) {
      std::memcpy(&weights[p], channel.weights + 2 * p, sizeof(weights[p]));
      offsets[2 * p] = channel.tap_offsets[2 * p];
      offsets[2 * p + 1] = channel.tap_offsets[std::min(2 * p + 1, kTaps - 1)];  // the last weight of an odd number is 0
    }
  }

  int32_t weights[kPairs + 1];
  int64_t offsets[2 * kPairs + 1];
};

HWY_INLINE hn::Vec<D16> PairOf(int32_t pair) { return hn::BitCast(D16(), hn::Set(D32(), pair)); }

/// kPixels pixels, of which the first has the origin of its taps `at`. kTaps 0: any number.
template <int kTaps, class U, class T>
HWY_INLINE void Pixels(const Int8TapsChannel& channel, const Taps<kTaps>& taps, const T* at, U* out) {
  auto low = hn::Set(D32(), channel.start), high = low;
  if constexpr (kTaps > 0) {
#pragma GCC unroll 16
    for (int p = 0; p < (kTaps + 1) / 2; ++p) {
      const auto weights = PairOf(taps.weights[p]);
      AddTaps(at + taps.offsets[2 * p], at + taps.offsets[2 * p + 1], weights, weights, low, high);
    }
  } else {
    for (int64_t k = 0; k < channel.taps; k += 2) {
      int32_t pair;
      std::memcpy(&pair, channel.weights + k, sizeof(pair));
      const int64_t second = k + 1 < channel.taps ? k + 1 : k;
      AddTaps(at + channel.tap_offsets[k], at + channel.tap_offsets[second], PairOf(pair), PairOf(pair), low, high);
    }
  }
  StorePixels(channel, low, high, out);
}

/// Rows shorter than half a vector at equal distances are computed as one, with what is between them.
constexpr int64_t kShortRow = kPixels / 2;
constexpr int64_t kMostTogether = 16 * kPixels;

bool RowsAreShort(const Int8TapsChannel& channel) {
  if (channel.width > kShortRow || channel.rows < 2) return false;
  const int64_t pitch = channel.row_offsets[1] - channel.row_offsets[0];
  if (pitch < channel.width || pitch > kPixels || (channel.rows - 1) * pitch + channel.width > kMostTogether) return false;
  for (int64_t r = 1; r < channel.rows; ++r) {
    if (channel.row_offsets[r] - channel.row_offsets[r - 1] != pitch) return false;
  }
  return true;
}

template <int kTaps, class T, class U>
void ShortRows(const Int8TapsChannel& channel) {
  const Taps<kTaps> taps(channel);
  const T* from = reinterpret_cast<const T*>(channel.from) + channel.row_offsets[0];
  const int64_t pitch = channel.row_offsets[1] - channel.row_offsets[0], end = (channel.rows - 1) * pitch + channel.width;
  HWY_ALIGN U buffer[kMostTogether + kPixels];
  for (int64_t x = 0; x < end; x += kPixels) Pixels<kTaps>(channel, taps, from + x, buffer + x);
  U* out = static_cast<U*>(channel.out);
  int64_t r = 0;
  // Half a vector each, as long as the next rows overwrite what it computes too much.
  for (; (channel.rows - r) * channel.width >= kShortRow; ++r)
    std::memcpy(out + r * channel.width, buffer + r * pitch, kShortRow * sizeof(U));
  for (; r < channel.rows; ++r) std::copy_n(buffer + r * pitch, channel.width, out + r * channel.width);
}

template <int kTaps, class T, class U>
void Channel(const Int8TapsChannel& channel) {
  if (RowsAreShort(channel)) return ShortRows<kTaps, T, U>(channel);
  const T* base = reinterpret_cast<const T*>(channel.from);
  U* out = static_cast<U*>(channel.out);
  const U* end = out + channel.rows * channel.width;
  const Taps<kTaps> taps(channel);
  PacedCancellationPoint look(2 + 0.5 * static_cast<double>(channel.taps));  // by vector
  for (int64_t r = 0; r < channel.rows; ++r, out += channel.width) {
    const T* row = base + channel.row_offsets[r];
    if constexpr (kTaps > 0) look.Pass(channel.width / kPixels + 1);
    for (int64_t x = 0; x < channel.width; x += kPixels) {
      if constexpr (kTaps == 0) look.Pass();  // of any number of taps
      if (out + x + kPixels <= end) {         // what reaches past the row is overwritten by the next
        Pixels<kTaps>(channel, taps, row + x, out + x);
      } else {
        HWY_ALIGN U buffer[kPixels];
        Pixels<kTaps>(channel, taps, row + x, buffer);
        std::copy_n(buffer, std::min<int64_t>(channel.width - x, kPixels), out + x);
      }
    }
  }
}

template <class T, class U>
void AnyChannel(const Int8TapsChannel& channel) {
  channel.taps == 9    ? Channel<9, T, U>(channel)
  : channel.taps == 25 ? Channel<25, T, U>(channel)
                       : Channel<0, T, U>(channel);
}

/// Every other byte of 2 * kCount.
template <size_t kCount>
HWY_INLINE void HalveVector(const uint8_t* from, uint8_t* to) {
  const hn::FixedTag<uint8_t, 2 * kCount> d8;
  const hn::FixedTag<uint16_t, kCount> d16;
  const hn::FixedTag<uint8_t, kCount> half;
  const auto low = hn::And(hn::BitCast(d16, hn::LoadU(d8, from)), hn::Set(d16, 0xff));
  hn::StoreU(hn::DemoteTo(half, hn::BitCast(hn::RebindToSigned<decltype(d16)>(), low)), half, to);
}

/// Every other byte of 2 * count - 1. Vectors at the end overlap those before them.
void Halve(const uint8_t* from, int64_t count, const uint8_t* end, uint8_t* to) {
  if (count < 4 || from + 2 * count > end) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else if (count < 8) {
    HalveVector<4>(from, to);
    HalveVector<4>(from + 2 * (count - 4), to + count - 4);
  } else {
    for (int64_t i = 0; i + 8 < count; i += 8) HalveVector<8>(from + 2 * i, to + i);
    HalveVector<8>(from + 2 * (count - 8), to + count - 8);
  }
}

}  // namespace

void TapsChannel(const Int8TapsChannel& channel) {
  if (channel.output == OutputStage::kAccumulators)
    return channel.is_signed ? AnyChannel<int8_t, int32_t>(channel) : AnyChannel<uint8_t, int32_t>(channel);
  channel.is_signed ? AnyChannel<int8_t, uint8_t>(channel) : AnyChannel<uint8_t, uint8_t>(channel);
}

void Halves(const ImageU8& image, const uint8_t* in, const uint8_t* end, uint8_t* out) {
  for (int64_t r = 0; r < image.rows; ++r, in += image.in_row, out += image.out_row) {
    for (int64_t phase = 0; phase < 2; ++phase) {
      if (image.count[phase] > 0) Halve(in + image.from[phase], image.count[phase], end, out + image.to[phase]);
    }
  }
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(TapsChannel);
HWY_EXPORT(Halves);
void SplitColumns(const ImageU8& image, const uint8_t* in, const uint8_t* end, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(Halves)(image, in, end, out);
}
void ComputeInt8Taps(const Int8TapsChannel& channel) { HWY_DYNAMIC_DISPATCH(TapsChannel)(channel); }
}  // namespace tessera::cpu
#endif
