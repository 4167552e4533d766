// Winograd's convolution over blocks of channels: a tile's transforms take the eight channels of a block at once.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/blocked_tiles.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/blocked-inl.h"
#include "simd/winograd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// The six-by-six pixels from (y, x) on, zeros outside the image.
HWY_INLINE void LoadEdgeTile(const BlockedTileRows& shape, const float* plane, int64_t y, int64_t x, float* tile) {
  const BlockTag d;
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 6; ++j, tile += kChannelBlock) {
      const int64_t row = y + i * shape.y.dilation, column = x + j * shape.x.dilation;
      const bool inside = row >= 0 && row < shape.height && column >= 0 && column < shape.width;
      const float* from = plane + (row * shape.width + column) * kChannelBlock;
      for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
        hn::StoreU(inside ? hn::LoadU(d, from + v) : hn::Zero(d), d, tile + v);
      }
    }
  }
}

/// `from` has `row` elements from row to row and `pixel` from pixel to pixel; the points go to out[point * matrix].
HWY_INLINE void TransformTile(const float* from, int64_t row, int64_t pixel, float* out, int64_t matrix) {
  const BlockTag d;
  for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
    HWY_ALIGN float half[36 * kBlockLanes];
    for (int j = 0; j < 6; ++j) {
      BlockVector x[6], y[6];
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) x[i] = hn::LoadU(d, from + v + i * row + j * pixel);
      InputTransform(d, x, y);
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) hn::Store(y[i], d, half + (i * 6 + j) * kBlockLanes);
    }
    for (int i = 0; i < 6; ++i) {
      BlockVector x[6], y[6];
#pragma GCC unroll 6
      for (int j = 0; j < 6; ++j) x[j] = hn::Load(d, half + (i * 6 + j) * kBlockLanes);
      InputTransform(d, x, y);
#pragma GCC unroll 6
      for (int j = 0; j < 6; ++j) hn::StoreU(y[j], d, out + (i * 6 + j) * matrix + v);
    }
  }
}

void Input(const BlockedTileRows& shape, const float* image, int64_t begin, int64_t end, float* columns) {
  const int64_t matrix = shape.column_matrix();
  const int64_t row_size = shape.width * kChannelBlock;
  for (int64_t block = begin; block < end; ++block) {
    const float* plane = image + block * shape.input_plane;
    float* out = columns + block * shape.tiles() * kChannelBlock;
    for (int64_t row = shape.first_row; row < shape.end_row; ++row) {
      const int64_t y = shape.y.first_pixel(row) - shape.pad_top;
      for (int64_t tile = 0; tile < shape.x.tiles(); ++tile, out += kChannelBlock) {
        const int64_t x = shape.x.first_pixel(tile) - shape.pad_left;
        if (!shape.y.leaves(y, 6, shape.height) && !shape.x.leaves(x, 6, shape.width)) {
          TransformTile(plane + y * row_size + x * kChannelBlock, shape.y.dilation * row_size, shape.x.dilation * kChannelBlock, out, matrix);
        } else {
          HWY_ALIGN float edge[36 * kChannelBlock];
          LoadEdgeTile(shape, plane, y, x, edge);
          TransformTile(edge, 6 * kChannelBlock, kChannelBlock, out, matrix);
        }
      }
    }
  }
}

/// A tile's four-by-four pixels, of which the first `rows` and `columns` are stored, `row_size` and `pixel` elements apart.
HWY_INLINE void FinishTile(const float* from, int64_t matrix, const BlockedEpilogue& epilogue, const float* bias,
                           const float* residual, int64_t rows, int64_t columns, int64_t row_size, int64_t pixel, float* out) {
  const BlockTag d;
  const Clamp clamp(epilogue);
  for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
    HWY_ALIGN float half[24 * kBlockLanes];
    for (int j = 0; j < 6; ++j) {
      BlockVector x[6], y[4];
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) x[i] = hn::LoadU(d, from + (i * 6 + j) * matrix + v);
      OutputTransform(d, x, y);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) hn::Store(y[i], d, half + (i * 6 + j) * kBlockLanes);
    }
    const auto offset = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + v);
    for (int64_t i = 0; i < rows; ++i) {
      BlockVector x[6], y[4];
#pragma GCC unroll 6
      for (int j = 0; j < 6; ++j) x[j] = hn::Load(d, half + (i * 6 + j) * kBlockLanes);
      OutputTransform(d, x, y);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        if (j >= columns) continue;
        const int64_t at = i * row_size + j * pixel + v;
        BlockVector value = hn::Add(y[j], offset);
        if (residual != nullptr) value = hn::Add(value, hn::LoadU(d, residual + at));
        hn::StoreU(clamp.active ? clamp(value) : value, d, out + at);
      }
    }
  }
}

void Output(const BlockedTileRows& shape, const float* products, const BlockedEpilogue& epilogue, int64_t begin, int64_t end,
            float* image) {
  const int64_t row_size = shape.x.size * kChannelBlock;
  const bool activates = ActivatesStored(epilogue);
  for (int64_t block = begin; block < end; ++block) {
    const float* from = products + block * shape.tiles() * kChannelBlock;
    const float* bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + block * kChannelBlock;
    for (int64_t row = shape.first_row; row < shape.end_row; ++row) {
      const int64_t y = shape.y.first_pixel(row), rows = shape.y.pixels_from(y);
      const int64_t line = block * shape.output_plane + y * row_size;
      for (int64_t tile = 0; tile < shape.x.tiles(); ++tile, from += kChannelBlock) {
        const int64_t x = shape.x.first_pixel(tile), at = line + x * kChannelBlock;
        const float* residual = epilogue.residual == nullptr ? nullptr : epilogue.residual + at;
        FinishTile(from, shape.product_matrix(), epilogue, bias, residual, rows, shape.x.pixels_from(x), shape.y.dilation * row_size,
                   shape.x.dilation * kChannelBlock, image + at);
      }
      for (int64_t i = 0; i < rows && activates; ++i) ActivateStored(epilogue, image + line + i * shape.y.dilation * row_size, row_size);
    }
  }
}

}  // namespace

void WinogradInputInBlocks(const BlockedTileRows& shape, const float* image, int64_t begin, int64_t end, float* columns) {
  Input(shape, image, begin, end, columns);
}
void WinogradOutputInBlocks(const BlockedTileRows& shape, const float* products, const BlockedEpilogue& epilogue, int64_t begin,
                            int64_t end, float* image) {
  Output(shape, products, epilogue, begin, end, image);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(WinogradInputInBlocks);
HWY_EXPORT(WinogradOutputInBlocks);

void TransformTileRows(const BlockedTileRows& shape, const float* image, int64_t begin, int64_t end, float* columns) {
  HWY_DYNAMIC_DISPATCH(WinogradInputInBlocks)(shape, image, begin, end, columns);
}
void FinishTileRows(const BlockedTileRows& shape, const float* products, const BlockedEpilogue& epilogue, int64_t begin,
                            int64_t end, float* image) {
  HWY_DYNAMIC_DISPATCH(WinogradOutputInBlocks)(shape, products, epilogue, begin, end, image);
}

}  // namespace tessera::cpu
#endif
