#pragma once

// 8-bit depthwise convolution of images in NHWC.

#include <cstdint>
#include <span>

#include "tessera/value.h"

namespace tessera::cpu {

/// Taps and parameters by channel in the kernel's order: in blocks of DepthwiseNhwcWidth() channels, the last of which
/// overlaps the one before where they do not divide.
class DepthwiseNhwc {
 public:
  /// weights[channel * taps + tap] without zero points, within 9 bits. There are at least DepthwiseNhwcWidth() channels.
  DepthwiseNhwc(const int16_t* weights, int64_t channels, int64_t taps);

  int64_t channels() const { return channels_; }
  int64_t taps() const { return taps_; }
  int64_t blocks() const { return blocks_; }
  /// Parameters by channel in the kernel's order, and the channel of the one at `i`.
  int64_t arranged() const { return blocks_ * width_; }
  int64_t ChannelAt(int64_t i) const;

  struct Pixels {
    const uint8_t* const* taps;  // of the first pixel: its channels
    int64_t step;                // bytes to the next pixel's
    int64_t count;
    bool is_signed;
    const int32_t* start;  // arranged: initial accumulators
    const float* scales;   // arranged
    int32_t zero;          // the output's zero point
    bool out_signed;
    void* out;  // pixel after pixel
  };
  void Compute(const Pixels& pixels) const;

 private:
  int64_t channels_, taps_, width_, blocks_;
  Tensor weights_;  // int16 by block, pair of taps, channel as arranged, tap
};

/// Channels that are computed together.
int64_t DepthwiseNhwcWidth();

}  // namespace tessera::cpu
