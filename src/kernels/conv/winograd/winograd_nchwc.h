#pragma once

// Winograd convolution F(4x4, 3x3) on images whose channels are in blocks, [batch][channels /
// block][height][width][block] (oneDNN's nChw8c and nChw16c): a pixel's block is a vector, so the transforms need no
// shuffles. The 36 GEMMs between them read tiles as rows: [tiles, channels] times [channels, outputs].

#include <cstdint>

#include "base/rounding.h"
#include "kernels/conv/winograd/winograd.h"
#include "kernels/epilogue.h"

namespace tessera::cpu {

struct NchwcWinograd {
  int64_t block;  // 8 or 16; divides `channels` and `outputs`
  int64_t batch, channels, outputs;
  int64_t height, width, pad_top, pad_left;  // of the input
  WinogradAxis y, x;                         // of the output

  int64_t tiles() const { return batch * y.tiles() * x.tiles(); }
  /// Elements from one of the 36 matrices of `count` tiles' channels (outputs) to the next: one extra cache line
  /// keeps them out of each other's sets.
  int64_t column_matrix(int64_t count) const { return count * channels + 16; }
  int64_t matmul_matrix(int64_t count) const { return count * outputs + 16; }
};

/// Tiles and channel blocks, [begin, end) each. The matrices' first row is tile `base`.
struct NchwcTiles {
  int64_t base;
  int64_t begin, end;
  int64_t first_block, end_block;
};

/// `columns`: 36 matrices [tiles, channels], `matrix` elements apart.
void TransformNchwcInput(const NchwcWinograd& shape, const NchwcTiles& tiles, const float* images, int64_t matrix,
                         float* columns);

/// `matmuls`, 36 matrices [tiles, outputs], `matrix` elements apart, to output images. The epilogue's
/// residual may be `images`.
void TransformNchwcOutput(const NchwcWinograd& shape, const NchwcTiles& tiles, const float* matmuls, int64_t matrix,
                          const Epilogue<float>& epilogue, float* images);

}  // namespace tessera::cpu
