#pragma once

// Images in blocks of channels, [N, C/8, H, W, 8]: the eight channels of a pixel are one vector, so convolutions read them where
// they lie. The optimizer's block_channels decides which values of a graph are laid out so.

#include <algorithm>
#include <cstdint>

namespace tessera::cpu {

constexpr int64_t kChannelBlock = 8;

/// Whether this machine's vectors hold one block.
bool SuitsChannelBlocks();

enum class BlockedActivation : uint8_t { kNone, kClip, kLeakyRelu, kHardSigmoid, kHardSwish, kSigmoid, kSilu };

/// What happens to a sum on its last visit.
struct BlockedEpilogue {
  const float* bias = nullptr;      // [channels]
  const float* residual = nullptr;  // laid out as the output
  BlockedActivation activation = BlockedActivation::kNone;
  float alpha = 0;  // kClip: lower bound; kLeakyRelu, kHardSigmoid: slope
  float beta = 0;   // kClip: upper bound; kHardSigmoid: offset
};

/// Some inputs that lie side by side.
struct BlockedStep {
  int64_t input;    // elements from a pixel's offset
  int64_t weights;  // number of the first of its weights
};

/// Weighted sums over steps of `step` neighbouring inputs, for blocks of outputs and for pixels: a convolution with one
/// group, or a matrix product.
struct BlockedProduct {
  const float* input = nullptr;
  const int64_t* pixel_offsets = nullptr;  // elements, by pixel; null: pixel after pixel, one block each
  const BlockedStep* steps = nullptr;
  int64_t num_steps = 0;
  int64_t step = kChannelBlock;  // or 1, 3, 5, 7
  int64_t depth = 0;             // weights of an output; the steps may leave some out
  int64_t pixels = 0;
  int64_t output_blocks = 0;
  const float* weights = nullptr;  // from PackBlockedWeights
  float* output = nullptr;         // [output_blocks][pixels][8]
  BlockedEpilogue epilogue;
};

/// `rows` times `count` neighbouring pixels.
struct BlockedPixels {
  int64_t first, count;
  int64_t rows = 1;
  int64_t row = 0;  // pixels from row to row
};

/// Outputs are computed two blocks at a time; an odd number of blocks ends with three, or is the only one.
constexpr int64_t BlockGroups(int64_t blocks) { return blocks < 2 ? blocks : blocks / 2; }
constexpr int64_t FirstBlock(int64_t blocks, int64_t group) { return group == BlockGroups(blocks) ? blocks : 2 * group; }

/// weights[blocks * 8][planes][unit][positions], perhaps not aligned, to the groups [group_begin, group_end) of packed, each
/// [planes][positions][unit][its outputs].
void PackBlockedWeights(const float* weights, int64_t planes, int64_t unit, int64_t positions, int64_t blocks,
                        int64_t group_begin, int64_t group_end, float* packed);

/// For the block groups [group_begin, group_end).
void MultiplyBlocked(const BlockedProduct& product, const BlockedPixels& pixels, int64_t group_begin, int64_t group_end);

/// A window over the planes of an image.
struct BlockedWindow {
  int64_t height, width, output_height, output_width;
  int64_t kernel_height, kernel_width, stride_y, stride_x, dilation_y, dilation_x, pad_top, pad_left;
};

/// One input channel for each output. Rows [begin, end) of all blocks' output rows; `blocks` to an image. Weights are
/// [blocks][kernel positions][8].
void ConvolveBlockedDepthwise(const BlockedWindow& window, const float* input, const float* weights, int64_t blocks,
                              const BlockedEpilogue& epilogue, int64_t begin, int64_t end, float* output);

enum class BlockedPool : uint8_t { kMax, kAverage, kAverageWithPads };

/// Rows [begin, end) of all blocks' output rows.
void PoolBlocked(const BlockedWindow& window, BlockedPool kind, const float* input, int64_t begin, int64_t end, float* output);

/// The mean of each channel's pixels: blocks [begin, end), eight numbers each.
void AverageBlocked(const float* input, int64_t pixels, int64_t begin, int64_t end, float* output);

/// output = input times a factor for each image and channel: blocks [begin, end).
void ScaleBlocked(const float* input, const float* factors, int64_t pixels, int64_t begin, int64_t end, float* output);

/// Between eight planes, `pixels` apart, and a block: pixels [begin, end).
void BlockChannels(const float* planes, int64_t pixels, int64_t begin, int64_t end, float* block);
void UnblockChannels(const float* block, int64_t pixels, int64_t begin, int64_t end, float* planes);

/// Winograd's F(4x4, 3x3) of an image, in rows of tiles. A dilated convolution is one for each offset below the dilation, of the
/// pixels that are a dilation apart: a tile takes such pixels, and offset follows upon offset.
struct BlockedTileRows {
  int64_t input_blocks, output_blocks;
  int64_t height, width, output_height, output_width, pad_top, pad_left;
  int64_t dilation_y, dilation_x;
  int64_t first_row, end_row;  // of tiles

  int64_t tiles_x() const { return dilation_x * TilesOfOffset(output_width, dilation_x); }
  int64_t tiles_y() const { return dilation_y * TilesOfOffset(output_height, dilation_y); }
  /// The first output pixel of a tile along an axis; at or past the last one where the tile is empty.
  int64_t row_of(int64_t tile) const { return FirstPixel(tile, output_height, dilation_y); }
  int64_t column_of(int64_t tile) const { return FirstPixel(tile, output_width, dilation_x); }
  /// Output pixels of a tile that begins at `first`.
  static int64_t PixelsFrom(int64_t first, int64_t size, int64_t dilation) {
    return first >= size ? 0 : std::min<int64_t>(4, (size - first - 1) / dilation + 1);
  }
  int64_t tiles() const { return (end_row - first_row) * tiles_x(); }
  /// Elements of a point's matrix; a cache line more keeps the points out of each other's sets.
  int64_t column_matrix() const { return input_blocks * tiles() * kChannelBlock + 16; }
  int64_t product_matrix() const { return output_blocks * tiles() * kChannelBlock + 16; }

 private:
  static int64_t TilesOfOffset(int64_t size, int64_t dilation) { return (size + 4 * dilation - 1) / (4 * dilation); }
  static int64_t FirstPixel(int64_t tile, int64_t size, int64_t dilation) {
    if (dilation == 1) return 4 * tile;
    const int64_t tiles = TilesOfOffset(size, dilation);
    return tile / tiles + tile % tiles * 4 * dilation;
  }
};

/// Input blocks [begin, end) of an image to columns, 36 matrices [input_blocks][tiles][8].
void TransformTileRows(const BlockedTileRows& shape, const float* image, int64_t begin, int64_t end, float* columns);

/// products, 36 matrices [output_blocks][tiles][8], to output blocks [begin, end) of an image.
void FinishTileRows(const BlockedTileRows& shape, const float* products, const BlockedEpilogue& epilogue, int64_t begin,
                            int64_t end, float* image);

}  // namespace tessera::cpu
