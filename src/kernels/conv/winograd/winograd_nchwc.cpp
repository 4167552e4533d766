// Transforms of Winograd convolutions in NCHW8c.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/winograd/winograd_nchwc.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv/winograd/winograd-inl.h"
#include "kernels/conv/winograd/winograd_nchwc.h"
#include "kernels/elementwise/activate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// The position of a tile.
struct Place {
  int64_t image, y, x;
};

Place PlaceOf(const NchwcWinograd& s, int64_t tile) {
  const int64_t columns = s.x.tiles(), per_image = s.y.tiles() * columns;
  const int64_t in_image = tile % per_image;
  return {tile / per_image, s.y.first_pixel(in_image / columns), s.x.first_pixel(in_image % columns)};
}

template <int kBlock>
void InputBlocks(const NchwcWinograd& s, const NchwcTiles& tiles, const float* images, int64_t matrix, float* columns) {
  const hn::CappedTag<float, kBlock> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t row = s.width * kBlock;
  for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    const Place at = PlaceOf(s, tile);
    const int64_t y = at.y - s.pad_top, x = at.x - s.pad_left;
    const bool inner = !s.y.leaves(y, 6, s.height) && !s.x.leaves(x, 6, s.width);
    for (int64_t b = tiles.first_block; b < tiles.end_block; ++b) {
      const float* plane = images + (at.image * (s.channels / kBlock) + b) * s.height * row;
      for (int64_t lane = 0; lane < kBlock; lane += lanes) {
        float* out = columns + (tile - tiles.base) * s.channels + b * kBlock + lane;
        const auto pixel = [&](int i, int j) {
          return hn::LoadU(d, plane + (y + i * s.y.dilation) * row + (x + j * s.x.dilation) * kBlock + lane);
        };
        if (inner) {
          InputTile(d, pixel, matrix, out);
          continue;
        }
        const auto padded = [&](int i, int j) {
          const bool outside =
              s.y.leaves(y + i * s.y.dilation, 1, s.height) || s.x.leaves(x + j * s.x.dilation, 1, s.width);
          return outside ? hn::Zero(d) : pixel(i, j);
        };
        InputTile(d, padded, matrix, out);
      }
    }
  }
}

template <int kBlock>
void OutputBlocks(const NchwcWinograd& s, const NchwcTiles& tiles, const float* matmuls, int64_t matrix,
                  const Epilogue<float>& epilogue, float* images) {
  const hn::CappedTag<float, kBlock> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t row = s.x.size * kBlock;
  for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    const Place at = PlaceOf(s, tile);
    const int64_t rows = s.y.pixels_from(at.y), pixels = s.x.pixels_from(at.x);
    for (int64_t b = tiles.first_block; b < tiles.end_block; ++b) {
      const int64_t corner = (at.image * (s.outputs / kBlock) + b) * s.y.size * row + at.y * row + at.x * kBlock;
      for (int64_t lane = 0; lane < kBlock; lane += lanes) {
        const int64_t channel = b * kBlock + lane;
        const float* from = matmuls + (tile - tiles.base) * s.outputs + channel;
        V half[4][6];
#pragma GCC unroll 6
        for (int j = 0; j < 6; ++j) {
          V x[6], y[4];
#pragma GCC unroll 6
          for (int i = 0; i < 6; ++i) x[i] = hn::LoadU(d, from + (i * 6 + j) * matrix);
          OutputTransform(d, x, y);
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) half[i][j] = y[i];
        }
        const V bias = epilogue.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, epilogue.bias + channel);
        for (int64_t i = 0; i < rows; ++i) {
          V y[4];
          OutputTransform(d, half[i], y);
          const int64_t first = corner + i * s.y.dilation * row + lane;
          for (int64_t j = 0; j < pixels; ++j) {
            V v = hn::Add(y[j], bias);
            const int64_t to = first + j * s.x.dilation * kBlock;
            if (epilogue.residual != nullptr) v = hn::Add(v, hn::LoadU(d, epilogue.residual + to));
            hn::StoreU(Activate(d, v, epilogue.activation), d, images + to);
          }
        }
      }
    }
  }
}

}  // namespace

void NchwcInput(const NchwcWinograd& shape, const NchwcTiles& tiles, const float* images, int64_t matrix, float* columns) {
  (shape.block == 16 ? InputBlocks<16> : InputBlocks<8>)(shape, tiles, images, matrix, columns);
}
void NchwcOutput(const NchwcWinograd& shape, const NchwcTiles& tiles, const float* matmuls, int64_t matrix,
                 const Epilogue<float>& epilogue, float* images) {
  (shape.block == 16 ? OutputBlocks<16> : OutputBlocks<8>)(shape, tiles, matmuls, matrix, epilogue, images);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(NchwcInput);
HWY_EXPORT(NchwcOutput);

void TransformNchwcInput(const NchwcWinograd& shape, const NchwcTiles& tiles, const float* images, int64_t matrix,
                         float* columns) {
  HWY_DYNAMIC_DISPATCH(NchwcInput)(shape, tiles, images, matrix, columns);
}

void TransformNchwcOutput(const NchwcWinograd& shape, const NchwcTiles& tiles, const float* matmuls, int64_t matrix,
                          const Epilogue<float>& epilogue, float* images) {
  HWY_DYNAMIC_DISPATCH(NchwcOutput)(shape, tiles, matmuls, matrix, epilogue, images);
}

}  // namespace tessera::cpu
#endif
