#pragma once

// Winograd convolution F(4x4, 3x3): each 4x4 tile of output pixels needs 36 multiplications a channel instead of 144. The
// tiles' columns go through 36 GEMMs, between a transform of the input and one of the output.

#include "base/rounding.h"
#include "kernels/conv/winograd/axis.h"
#include "kernels/epilogue.h"
#include "kernels/gemm/gemm.h"

namespace tessera::cpu {

constexpr int64_t kWinogradPoints = 36;  // multiplications of a tile

/// One image, stride 1, some rows of its tiles.
struct WinogradBlock {
  int64_t channels, outputs;
  int64_t height, width;  // of the input
  int64_t output_height, output_width;
  int64_t pad_top, pad_left;
  int64_t first_row, end_row;  // of tiles

  int64_t tiles_x() const { return CeilDiv(output_width, kWinogradTile); }
  int64_t tiles() const { return (end_row - first_row) * tiles_x(); }
  /// Elements from row to row of a GEMM's result.
  int64_t matmul_row() const { return (tiles() + 15) / 16 * 16 + 16; }
  /// Elements from one of the 36 matrices to the next; one extra cache line keeps them out of each other's
  /// sets.
  int64_t matmul_matrix() const { return outputs * matmul_row() + 16; }
  int64_t column_matrix() const { return static_cast<int64_t>(PackedGemmBSize<float>(channels, tiles())) + 16; }
};

/// Transforms filters[count][taps of y][taps of x], at any address, to the weights of the planes of an input:
/// transformed weight k of the n of a point whose first is p, of filter i, is transformed[p * matrix + i * n + k].
void TransformWinogradFilters(WinogradForm form, const float* filters, int64_t count, int64_t matrix, float* transformed);

/// Elements of the buffer that TransformWinogradInput wants.
int64_t WinogradBufferSize(const WinogradBlock& block);

/// Channels [begin, end) of an image to `columns`: 36 matrices [channels, tiles], each packed as GemmRhs::packed.
void TransformWinogradInput(const WinogradBlock& block, const float* image, int64_t begin, int64_t end, float* buffer,
                            float* columns);

/// `matmuls`, 36 matrices [outputs][matmul_row()], to the output image, outputs [begin, end). Reads up to 16 values past
/// a row's tiles. The epilogue has no residual.
void TransformWinogradOutput(const WinogradBlock& block, const float* matmuls, const Epilogue<float>& epilogue,
                             int64_t begin, int64_t end, float* image);

}  // namespace tessera::cpu
