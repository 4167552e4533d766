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

/// A whole output channel, requantized. 64 bytes after the channel's last may be read.
struct Int8DepthwiseChannel {
  const uint8_t* from;  // the channel as ConvInput lays it out
  bool is_signed;
  const int64_t* row_offsets;  // of the output rows
  int64_t rows;
  const int64_t* kernel_offsets;
  const int16_t* weights;  // zero point subtracted, whole pairs
  int64_t kernel_size;
  int64_t width;
  int32_t start;  // of the accumulators
  float scale;
  int32_t zero;  // the output's zero point
  bool out_signed;
  void* out;
};

/// Rows of bytes, split into their even and their odd columns.
struct ImageU8 {
  int64_t rows, in_row, out_row;
  int64_t from[2], to[2], count[2];  // within a row
};

/// `end`: of what may be read.
void SplitColumns(const ImageU8& image, const uint8_t* in, const uint8_t* end, uint8_t* out);

void ComputeInt8DepthwiseChannel(const Int8DepthwiseChannel& channel);

}  // namespace tessera::cpu
