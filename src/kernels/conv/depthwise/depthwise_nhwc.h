#pragma once

// Depthwise convolution of float images in NHWC.

#include <cstdint>

namespace tessera::cpu {

/// Fewest channels: as many as the longest vectors have lanes.
inline constexpr int64_t kDepthwisePixelChannels = 16;

/// Pixels of one row of the output that have the same taps inside the image.
struct DepthwisePixels {
  const float* const* taps;     // under each tap, the first pixel's channels
  const float* const* weights;  // of each tap, by channel
  int64_t num_taps;
  int64_t step;  // elements from one pixel to the next, under each tap
  int64_t count;
  int64_t channels;
  const float* bias;  // by channel
  float* out;         // pixel after pixel
};

void ComputeDepthwisePixels(const DepthwisePixels& pixels);

}  // namespace tessera::cpu
