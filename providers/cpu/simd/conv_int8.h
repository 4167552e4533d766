#pragma once

// Inner loop of 8-bit depthwise convolution.

#include <cstdint>

namespace tessera::cpu {

struct Int8DepthwiseRow {
  const uint8_t* from;  // the channel as ConvInput lays it out, at this output row
  bool is_signed;
  const int64_t* kernel_offsets;
  const int16_t* weights;  // zero point subtracted
  int64_t kernel_size;
  int64_t width;
  int32_t start;  // bias, less the input's zero point times the sum of the weights
  int32_t* out;
};

void ComputeInt8DepthwiseRow(const Int8DepthwiseRow& row);

}  // namespace tessera::cpu
