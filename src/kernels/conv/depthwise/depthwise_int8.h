#pragma once

// Convolution of 8-bit images tap by tap: depthwise, or of all channels of a group where its outputs are few.

#include <cstdint>

#include "kernels/gemm/gemm_u8s8.h"

namespace tessera::cpu {

/// A whole output channel, requantized or as accumulators. 64 bytes after the last channel that it reads may be read.
struct Int8TapsChannel {
  const uint8_t* from;  // the first of the channels that it reads, as ConvInput lays them out
  bool is_signed;
  const int64_t* row_offsets;  // of the output rows
  int64_t rows;
  const int64_t* tap_offsets;
  const int16_t* weights;  // of the taps, zero point subtracted, whole pairs
  int64_t taps;
  int64_t width;
  int32_t start;             // of the accumulators, which may wrap
  float scale;               // of quantized values
  int32_t zero;              // the output's zero point
  OutputStage::Kind output;  // no floats
  void* out;
};

void ComputeInt8Taps(const Int8TapsChannel& channel);

/// Rows of bytes, split into their even and their odd columns.
struct ImageU8 {
  int64_t rows, in_row, out_row;
  int64_t from[2], to[2], count[2];  // within a row
};

/// `end`: of what may be read.
void SplitColumns(const ImageU8& image, const uint8_t* in, const uint8_t* end, uint8_t* out);

}  // namespace tessera::cpu
