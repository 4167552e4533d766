#pragma once

// Images in NCHW8c, [N, C/8, H, W, 8], or [N, C/8, D, H, W, 8]: the eight channels of a pixel are one vector,
// so convolutions read them in place. The pass use_nchw8c decides which values of a graph have the layout.

#include <cstdint>

#include "kernels/conv/winograd/axis.h"
#include "kernels/epilogue.h"

namespace tessera::cpu {

constexpr int64_t kChannelBlock = 8;

/// Whether this machine's vectors hold one block.
bool SuitsChannelBlocks();

/// Some adjacent inputs.
struct Nchw8cStep {
  int64_t input;    // elements from a pixel's offset
  int64_t weights;  // number of the first of its weights
};

/// GEMM over steps of `step` adjacent inputs, for blocks of output channels and for pixels: a convolution with one
/// group, or a matrix product.
struct Nchw8cGemm {
  const float* input = nullptr;
  const int64_t* pixel_offsets = nullptr;  // elements, by pixel; null: pixel after pixel, one block each
  const Nchw8cStep* steps = nullptr;
  int64_t num_steps = 0;
  int64_t step = kChannelBlock;  // or 1, 3, 4, 5, 6, 7, 11
  int64_t depth = 0;             // weights of an output; the steps may leave some out
  int64_t pixels = 0;
  int64_t output_blocks = 0;
  const float* weights = nullptr;  // from PackNchw8cWeights
  float* output = nullptr;         // [output_blocks][pixels][8]
  Epilogue<float> epilogue;
};

/// `rows` times `count` neighbouring pixels.
struct Nchw8cPixels {
  int64_t first, count;
  int64_t rows = 1;
  int64_t row = 0;  // pixels from row to row
};

/// Outputs are computed two blocks at a time; an odd number of blocks ends with three, or is the only one.
constexpr int64_t BlockGroups(int64_t blocks) { return blocks < 2 ? blocks : blocks / 2; }
constexpr int64_t FirstBlock(int64_t blocks, int64_t group) { return group == BlockGroups(blocks) ? blocks : 2 * group; }

/// weights[blocks * 8][planes][unit][positions], perhaps not aligned, to the groups [group_begin, group_end) of packed,
/// each [planes][positions][unit][its outputs].
void PackNchw8cWeights(const float* weights, int64_t planes, int64_t unit, int64_t positions, int64_t blocks,
                       int64_t group_begin, int64_t group_end, float* packed);

/// For the block groups [group_begin, group_end).
void MultiplyNchw8c(const Nchw8cGemm& gemm, const Nchw8cPixels& pixels, int64_t group_begin, int64_t group_end);

/// A window along one axis of an image.
struct Nchw8cAxis {
  int64_t input, output, kernel, stride, dilation, pad;
};

struct Nchw8cWindow {
  Nchw8cAxis z, y, x;

  int64_t positions() const { return z.kernel * y.kernel * x.kernel; }
};

/// One input channel for each output. Rows [begin, end) of all blocks' output rows; `blocks` to an image. Weights are
/// [blocks][kernel positions][8].
void ConvolveNchw8cDepthwise(const Nchw8cWindow& window, const float* input, const float* weights, int64_t blocks,
                             const Epilogue<float>& epilogue, int64_t begin, int64_t end, float* output);

enum class Nchw8cPool : uint8_t { kMax, kAverage, kAverageWithPads };

/// Rows [begin, end) of all blocks' output rows.
void PoolNchw8c(const Nchw8cWindow& window, Nchw8cPool kind, const float* input, int64_t begin, int64_t end, float* output);

/// The mean of each channel's pixels: blocks [begin, end), eight numbers each.
void AverageNchw8c(const float* input, int64_t pixels, int64_t begin, int64_t end, float* output);

/// Channels that are normalized together: `blocks` whole blocks of them, or each `lanes` of one block.
struct Nchw8cGroups {
  int64_t pixels;
  int64_t blocks;
  int64_t lanes;
  float epsilon;
};

/// output = (input - mean) / sqrt(variance + epsilon) * scale + bias over `blocks` blocks; scale and bias by channel. The
/// output may be the input.
void NormalizeNchw8cGroup(const Nchw8cGroups& groups, const float* input, const float* scale, const float* bias,
                          float* output);

/// output = input times a multiplier for each image and channel, or plus an offset: blocks [begin, end).
void ScaleNchw8c(const float* input, const float* factors, int64_t pixels, int64_t begin, int64_t end, float* output);
void ShiftNchw8c(const float* input, const float* offsets, int64_t pixels, int64_t begin, int64_t end, float* output);

/// Between eight planes, `pixels` apart, and a block: pixels [begin, end). Out of a block, the first `channels`.
void UseNchw8c(const float* planes, int64_t pixels, int64_t begin, int64_t end, float* block);
void UnblockChannels(const float* block, int64_t pixels, int64_t begin, int64_t end, int64_t channels, float* planes);

/// Winograd convolution of an image, in rows of tiles. A window of several slices accumulates over those as over channels.
struct Nchw8cTileRows {
  WinogradForm form;
  int64_t slices, input_blocks, output_blocks;
  int64_t input_plane, output_plane;         // elements from block to block
  int64_t height, width, pad_top, pad_left;  // of the input
  WinogradAxis y, x;                         // of the output
  int64_t first_row, end_row;                // of tiles

  /// Blocks that a plane of a point accumulates over.
  int64_t summed_blocks() const { return slices * input_blocks; }
  int64_t tiles() const { return (end_row - first_row) * x.tiles(); }
  /// Elements of a plane's matrix and of a point's; one extra cache line keeps them out of each other's sets.
  int64_t column_matrix() const { return summed_blocks() * tiles() * kChannelBlock + 16; }
  int64_t matmul_matrix() const { return output_blocks * tiles() * kChannelBlock + 16; }
};

/// Input blocks [begin, end) of a slice to its columns in the form's planes, each a matrix
/// [slices][input_blocks][tiles][8].
void TransformTileRows(const Nchw8cTileRows& shape, const float* image, int64_t begin, int64_t end, float* columns);

/// `matmuls`, a matrix [output_blocks][tiles][8] of each point, to output blocks [begin, end) of an image.
void FinishTileRows(const Nchw8cTileRows& shape, const float* matmuls, const Epilogue<float>& epilogue, int64_t begin,
                    int64_t end, float* image);

}  // namespace tessera::cpu
