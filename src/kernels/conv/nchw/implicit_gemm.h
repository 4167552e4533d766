#pragma once

// Convolution as a GEMM whose right operand is read where the image lies: pixels that a tap reads are one run of memory,
// output pixels and what lies between their rows alike, so that nothing is gathered (cuDNN's implicit GEMM).

#include <cstdint>
#include <span>

#include "kernels/epilogue.h"

namespace tessera::cpu {

/// A row of output pixels: where it begins in the run, and in a channel of the output.
struct PixelRow {
  int64_t from, to;
};

struct ImplicitGemmProblem {
  const float* weights;  // of all blocks of output channels, [depth][block_rows] each, padded with zeros
  int64_t outputs, block_rows;
  const float* base;
  std::span<const int64_t> offsets;  // from base to the run of each step of the depth
  int64_t run;                       // elements
  std::span<const PixelRow> rows;    // ascending
  int64_t row_pixels;
  float* out;
  int64_t out_channel;  // elements from output channel to output channel
  Epilogue<float> epilogue;
};

/// Output channels of a block: few vectors of the run and as many output channels as leave no register unused.
int64_t ImplicitGemmRows(int64_t outputs);
/// Elements of packed weights.
int64_t ImplicitGemmSize(int64_t outputs, int64_t depth);
/// `weights`: [outputs, depth].
void PackImplicitGemm(const float* weights, int64_t outputs, int64_t depth, float* packed);
/// Elements of a panel of the run, of which tasks take whole ones.
int64_t ImplicitGemmPanel(int64_t block_rows);
/// Elements that may be read behind a run.
int64_t ImplicitGemmSlack();

/// Panels [begin, end) of the run.
void ImplicitGemm(const ImplicitGemmProblem& problem, int64_t begin, int64_t end);

}  // namespace tessera::cpu
