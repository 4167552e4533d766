#pragma once

// Winograd convolution F(4, 3) along one axis: four output pixels need six multiplications a channel instead of twelve. The
// pixels of a tile are `dilation` apart, so that they meet the same taps; as many tiles begin one pixel apart, and then
// follow those that begin where they end.

#include "base/rounding.h"
#include "kernels/epilogue.h"
#include "kernels/gemm/gemm.h"

namespace tessera::cpu {

constexpr int64_t kWinograd1dTile = 4;
constexpr int64_t kWinograd1dPoints = 6;  // multiplications of a tile

/// One image of one spatial axis, stride 1, some of its tiles.
struct Winograd1d {
  int64_t channels, outputs;
  int64_t length, output_length;
  int64_t dilation, pad;
  int64_t first_tile, end_tile;

  /// Tiles that begin one pixel apart.
  int64_t phases() const { return dilation < output_length ? dilation : output_length; }
  int64_t all_tiles() const {
    const int64_t pixels = CeilDiv(output_length, dilation);  // of a phase, the longest
    return phases() * CeilDiv(pixels, kWinograd1dTile);
  }
  int64_t tiles() const { return end_tile - first_tile; }
  /// Elements from row to row of a GEMM's result.
  int64_t matmul_row() const { return (tiles() + 15) / 16 * 16 + 16; }
  /// Elements from one of the six matrices to the next; one extra cache line keeps them out of each other's
  /// sets.
  int64_t matmul_matrix() const { return outputs * matmul_row() + 16; }
  int64_t column_matrix() const { return static_cast<int64_t>(PackedGemmBSize<float>(channels, tiles())) + 16; }
};

/// An image [channels, length] to `columns`: six matrices [channels, tiles], each packed as GemmRhs::packed.
void TransformWinograd1dInput(const Winograd1d& shape, const float* image, float* columns);

/// `matmuls`, six matrices [outputs][matmul_row()], to the output image [outputs, output_length]. The epilogue
/// has no residual.
void TransformWinograd1dOutput(const Winograd1d& shape, const float* matmuls, const Epilogue<float>& epilogue,
                               float* image);

}  // namespace tessera::cpu
