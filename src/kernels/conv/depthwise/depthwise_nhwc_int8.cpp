// 8-bit depthwise convolution with the channels along the vectors.

#include "kernels/conv/depthwise/depthwise_nhwc_int8.h"

#include "base/rounding.h"
#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise/depthwise_nhwc_int8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv/depthwise/tap_pairs-inl.h"
#include "kernels/quantize/quantized_values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
constexpr int64_t kWidth = static_cast<int64_t>(HWY_LANES(int16_t));
constexpr int64_t kHalf = kWidth / 2;

/// One block of channels, `at` bytes from the pixels' first.
struct Block {
  const int16_t* weights;
  const int32_t* start;
  const float* scales;
  int64_t at, channels, taps;
};

template <class U>
HWY_INLINE void StoreBlock(const Block& block, int32_t zero, hn::Vec<D32> low, hn::Vec<D32> high, U* out) {
  const DF df;
  const D16 d16;
  const hn::Rebind<U, D16> quantized_tag;
  const auto first = RoundToInt32(hn::Mul(hn::ConvertTo(df, low), hn::LoadU(df, block.scales)));
  const auto second = RoundToInt32(hn::Mul(hn::ConvertTo(df, high), hn::LoadU(df, block.scales + kHalf)));
  const auto quantized =
      hn::SaturatedAdd(hn::ReorderDemote2To(d16, first, second), hn::Set(d16, static_cast<int16_t>(zero)));
  hn::StoreU(hn::DemoteTo(quantized_tag, quantized), quantized_tag, out);
}

/// kTaps taps, whose weights stay in registers; 0: any number.
template <int kTaps, class T, class U>
void RunBlock(const DepthwiseNhwc::Pixels& pixels, const Block& block) {
  constexpr int kPairs = (kTaps + 1) / 2;
  const D16 d16;
  const D32 d32;
  const int64_t pairs = kTaps > 0 ? kPairs : (block.taps + 1) / 2;
  U* out = static_cast<U*>(pixels.out) + block.at;
  int64_t offset = block.at;
  const auto tap = [&](int64_t t)
                       HWY_ATTR { return reinterpret_cast<const T*>(pixels.taps[std::min(t, block.taps - 1)]) + offset; };
  for (int64_t x = 0; x < pixels.count; ++x, offset += pixels.step, out += block.channels) {
    auto low = hn::LoadU(d32, block.start), high = hn::LoadU(d32, block.start + kHalf);
    if constexpr (kTaps > 0) {
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) {
        const T* first = reinterpret_cast<const T*>(pixels.taps[2 * p]) + offset;
        const T* second = 2 * p + 1 < kTaps ? reinterpret_cast<const T*>(pixels.taps[2 * p + 1]) + offset : first;
        AddTaps(first, second, hn::LoadU(d16, block.weights + 2 * p * kWidth),
                hn::LoadU(d16, block.weights + (2 * p + 1) * kWidth), low, high);
      }
    } else {
      for (int64_t p = 0; p < pairs; ++p) {
        AddTaps(tap(2 * p), tap(2 * p + 1), hn::LoadU(d16, block.weights + 2 * p * kWidth),
                hn::LoadU(d16, block.weights + (2 * p + 1) * kWidth), low, high);
      }
    }
    StoreBlock(block, pixels.zero, low, high, out);
  }
}

template <class T, class U>
void RunTaps(const DepthwiseNhwc::Pixels& pixels, const Block& block) {
  block.taps == 9 ? RunBlock<9, T, U>(pixels, block) : RunBlock<0, T, U>(pixels, block);
}

}  // namespace

void RunChannels(const DepthwiseNhwc::Pixels& pixels, const int16_t* weights, int64_t channels, int64_t taps) {
  const int64_t pairs = (taps + 1) / 2;
  for (int64_t b = 0; b * kWidth < channels; ++b) {
    const Block block{weights + b * pairs * 2 * kWidth,
                      pixels.start + b * kWidth,
                      pixels.scales + b * kWidth,
                      std::min(b * kWidth, channels - kWidth),
                      channels,
                      taps};
    if (pixels.is_signed) {
      pixels.out_signed ? RunTaps<int8_t, int8_t>(pixels, block) : RunTaps<int8_t, uint8_t>(pixels, block);
    } else {
      pixels.out_signed ? RunTaps<uint8_t, int8_t>(pixels, block) : RunTaps<uint8_t, uint8_t>(pixels, block);
    }
  }
}

int64_t WidthOfBlock() { return kWidth; }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(RunChannels);
HWY_EXPORT(WidthOfBlock);

int64_t DepthwiseNhwcWidth() { return HWY_DYNAMIC_DISPATCH(WidthOfBlock)(); }

DepthwiseNhwc::DepthwiseNhwc(const int16_t* weights, int64_t channels, int64_t taps)
    : channels_(channels), taps_(taps), width_(DepthwiseNhwcWidth()), blocks_(CeilDiv(channels, width_)) {
  const int64_t pairs = (taps + 1) / 2;
  weights_ = Tensor(ElementType::kInt16, Shape{blocks_, pairs, width_, 2});
  auto* to = weights_.mutable_data<int16_t>();
  for (int64_t b = 0; b < blocks_; ++b) {
    for (int64_t p = 0; p < pairs; ++p) {
      for (int64_t i = 0; i < width_; ++i) {
        const int16_t* from = weights + ChannelAt(b * width_ + i) * taps + 2 * p;
        *to++ = from[0];
        *to++ = 2 * p + 1 < taps ? from[1] : int16_t{0};
      }
    }
  }
}

int64_t DepthwiseNhwc::ChannelAt(int64_t i) const {
  // Interleaved vectors: lower halves of all groups of eight, then the upper ones.
  const int64_t block = i / width_, in_block = i % width_, half = in_block / (width_ / 2), j = in_block % (width_ / 2);
  return std::min(block * width_, channels_ - width_) + j / 4 * 8 + half * 4 + j % 4;
}

void DepthwiseNhwc::Compute(const Pixels& pixels) const {
  HWY_DYNAMIC_DISPATCH(RunChannels)(pixels, weights_.data<int16_t>(), channels_, taps_);
}

}  // namespace tessera::cpu
#endif
