#pragma once

// Depthwise convolution over images with a small square kernel: bands of the padded input pass through the L1 cache, and a
// tile of output rows shares every vector of input, or a vector has one pixel of several planes.

#include <cstdint>

#include "kernels/epilogue.h"

namespace tessera::cpu {

struct DepthwiseShape {
  int64_t channels;
  int64_t multiplier;  // output channels of each input channel
  int64_t height, width;
  int64_t output_height, output_width;
  int64_t pad_top, pad_left;
  int64_t kernel;  // kernel x kernel
  int64_t stride;  // both ways
};

struct DepthwiseTensors {
  const float* input;
  const float* weights;
  float* output;
  Epilogue<float> epilogue;  // without a residual
};

/// Whether ConvolveDepthwise knows the shape.
bool SuitsDepthwise(const DepthwiseShape& shape);

/// Planes that are computed together, at least 1: threads get whole multiples of it.
int64_t DepthwisePlanesTogether(const DepthwiseShape& shape);

/// Input planes [begin, end), counted over the batch, on the calling thread.
void ConvolveDepthwise(const DepthwiseShape& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end);

}  // namespace tessera::cpu
