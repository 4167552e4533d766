// Inner loop of 8-bit depthwise convolution.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/conv_int8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "simd/conv_int8.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void Row(const Int8DepthwiseRow& row) {
  constexpr int64_t kBlock = 16;
  const T* from = reinterpret_cast<const T*>(row.from);
  int64_t x = 0;
  for (; x + kBlock <= row.width; x += kBlock) {
    uint32_t sums[kBlock];  // may wrap: the bias is anything
    for (int64_t i = 0; i < kBlock; ++i) sums[i] = static_cast<uint32_t>(row.start);
    for (int64_t k = 0; k < row.kernel_size; ++k) {
      const int32_t w = row.weights[k];
      const T* at = from + x + row.kernel_offsets[k];
      for (int64_t i = 0; i < kBlock; ++i) sums[i] += static_cast<uint32_t>(w * at[i]);
    }
    for (int64_t i = 0; i < kBlock; ++i) row.out[x + i] = static_cast<int32_t>(sums[i]);
  }
  if (x == row.width) return;
  auto* out = reinterpret_cast<uint32_t*>(row.out);
  std::fill(out + x, out + row.width, static_cast<uint32_t>(row.start));
  for (int64_t k = 0; k < row.kernel_size; ++k) {
    const int32_t w = row.weights[k];
    const T* at = from + row.kernel_offsets[k];
    for (int64_t i = x; i < row.width; ++i) out[i] += static_cast<uint32_t>(w * at[i]);
  }
}

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<int16_t>;
using D32 = hn::ScalableTag<int32_t>;
constexpr int kPixels = static_cast<int>(HWY_LANES(int16_t));

/// Sums to codes. `low` and `high` hold every other four sums, as interleaving left them.
template <class T>
HWY_INLINE auto Codes(const Int8DepthwiseChannel& channel, hn::Vec<D32> low, hn::Vec<D32> high) {
  const hn::ScalableTag<float> df;
  const D16 d16;
  const auto scale = hn::Set(df, channel.scale);
  const auto round = [&](hn::Vec<D32> sum) HWY_ATTR {
    // Far beyond all codes, and within the conversion's range; the operand order makes NaN the least.
    const auto scaled = hn::Mul(hn::ConvertTo(df, sum), scale);
    return hn::NearestInt(hn::Min(hn::Max(scaled, hn::Set(df, -1e6f)), hn::Set(df, 1e6f)));
  };
  const auto codes = hn::SaturatedAdd(hn::ReorderDemote2To(d16, round(low), round(high)), hn::Set(d16, static_cast<int16_t>(channel.zero)));
  return hn::DemoteTo(hn::Rebind<T, D16>(), codes);
}

template <class T, class U>
void Channel(const Int8DepthwiseChannel& channel) {
  const D16 d16;
  const D32 d32;
  const hn::Rebind<T, D16> narrow;
  const hn::Rebind<U, D16> code;
  const T* base = reinterpret_cast<const T*>(channel.from);
  U* out = static_cast<U*>(channel.out);
  const auto start = hn::Set(d32, channel.start);
  for (int64_t r = 0; r < channel.rows; ++r, out += channel.width) {
    const T* row = base + channel.row_offsets[r];
    for (int64_t x = 0; x < channel.width; x += kPixels) {
      auto low = start, high = start;
      for (int64_t k = 0; k < channel.kernel_size; k += 2) {
        int32_t pair;
        std::memcpy(&pair, channel.weights + k, sizeof(pair));
        const auto w = hn::BitCast(d16, hn::Set(d32, pair));
        const int64_t second = k + 1 < channel.kernel_size ? k + 1 : k;
        const auto a = hn::PromoteTo(d16, hn::LoadU(narrow, row + x + channel.kernel_offsets[k]));
        const auto b = hn::PromoteTo(d16, hn::LoadU(narrow, row + x + channel.kernel_offsets[second]));
        auto unused = hn::Zero(d32);
        low = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveLower(d16, a, b), w, low, unused);
        high = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveUpper(d16, a, b), w, high, unused);
      }
      const auto codes = Codes<U>(channel, low, high);
      if (x + kPixels <= channel.width) {
        hn::StoreU(codes, code, out + x);
      } else {
        HWY_ALIGN U buffer[kPixels];
        hn::StoreU(codes, code, buffer);
        std::memcpy(out + x, buffer, static_cast<size_t>(channel.width - x));
      }
    }
  }
}

}  // namespace

void DepthwiseChannel(const Int8DepthwiseChannel& channel) {
  if (channel.is_signed) {
    channel.out_signed ? Channel<int8_t, int8_t>(channel) : Channel<int8_t, uint8_t>(channel);
  } else {
    channel.out_signed ? Channel<uint8_t, int8_t>(channel) : Channel<uint8_t, uint8_t>(channel);
  }
}

void DepthwiseRow(const Int8DepthwiseRow& row) { row.is_signed ? Row<int8_t>(row) : Row<uint8_t>(row); }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(DepthwiseRow);
HWY_EXPORT(DepthwiseChannel);
void ComputeInt8DepthwiseChannel(const Int8DepthwiseChannel& channel) { HWY_DYNAMIC_DISPATCH(DepthwiseChannel)(channel); }
void ComputeInt8DepthwiseRow(const Int8DepthwiseRow& row) { HWY_DYNAMIC_DISPATCH(DepthwiseRow)(row); }
}  // namespace tessera::cpu
#endif
