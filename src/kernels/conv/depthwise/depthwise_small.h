#pragma once

// Depthwise convolution of planes of few pixels, whatever the window and the number of axes: a plane in each lane, and a
// table that says which taps of which pixels an output pixel reads.

#include <cstdint>

#include "kernels/conv/depthwise/depthwise.h"

namespace tessera::cpu {

/// Of pixels of a plane, of the input or the output, and of taps.
inline constexpr int64_t kMostSmallPixels = 64, kMostSmallTaps = 128;

struct SmallPlanes {
  /// A tap that reads inside the image.
  struct Meeting {
    int32_t pixel, tap;
  };

  int64_t batch, channels, multiplier;  // output channels of each input channel
  int64_t input, output, taps;          // pixels of a plane
  const int32_t* begins;                // of each output pixel and after the last: where its meetings begin
  const Meeting* meetings;
};

/// Planes that are computed together; 0: the processor has no kernel for them.
int64_t SmallPlanesTogether();

/// Groups [begin, end) of so many planes, of all images' together, on the calling thread.
void ConvolveSmallPlanes(const SmallPlanes& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end);

}  // namespace tessera::cpu
