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

/// A tile's pixels from (y, x) on, zeros outside the image.
template <int64_t kReach>
HWY_INLINE void LoadEdgeTile(const BlockedTileRows& shape, const float* plane, int64_t y, int64_t x, float* tile) {
  const BlockTag d;
  for (int64_t i = 0; i < kReach; ++i) {
    for (int64_t j = 0; j < kReach; ++j, tile += kChannelBlock) {
      const int64_t row = y + i * shape.y.dilation, column = x + j * shape.x.dilation;
      const bool inside = row >= 0 && row < shape.height && column >= 0 && column < shape.width;
      const float* from = plane + (row * shape.width + column) * kChannelBlock;
      for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
        hn::StoreU(inside ? hn::LoadU(d, from + v) : hn::Zero(d), d, tile + v);
      }
    }
  }
}

/// The number of the plane that is plane `i` of a tile's rows and plane `j` of its columns.
template <class Form>
struct PlaneNumbers {
  static constexpr WinogradPlanes kPlanes = Form::kPlanes;
  int64_t of[kPlanes.planes][kPlanes.planes];

  constexpr PlaneNumbers() : of{} {
    for (int64_t point = 0; point < kPlanes.all_points(); ++point) {
      const int64_t y = point / kPlanes.points, x = point % kPlanes.points;
      for (int64_t k = 0; k < kPlanes.PlanesOf(point); ++k) {
        const int64_t i = kPlanes.first[static_cast<size_t>(y)] + k / kPlanes.of(x);
        const int64_t j = kPlanes.first[static_cast<size_t>(x)] + k % kPlanes.of(x);
        of[i][j] = kPlanes.FirstPlane(point) + k;
      }
    }
  }
};

/// `from` has `row` elements from row to row and `pixel` from pixel to pixel; the planes go to out[plane * matrix].
template <class Form>
HWY_INLINE void TransformTile(const float* from, int64_t row, int64_t pixel, float* out, int64_t matrix) {
  static constexpr PlaneNumbers<Form> kNumbers;
  constexpr int kReach = Form::kPlanes.reach(), kPlanes = Form::kPlanes.planes;
  const BlockTag d;
  for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
    HWY_ALIGN float half[kPlanes * kReach * kBlockLanes];
    for (int j = 0; j < kReach; ++j) {
      BlockVector x[kReach], y[kPlanes];
#pragma GCC unroll 6
      for (int i = 0; i < kReach; ++i) x[i] = hn::LoadU(d, from + v + i * row + j * pixel);
      Form::Input(d, x, y);
#pragma GCC unroll 6
      for (int i = 0; i < kPlanes; ++i) hn::Store(y[i], d, half + (i * kReach + j) * kBlockLanes);
    }
    for (int i = 0; i < kPlanes; ++i) {
      BlockVector x[kReach], y[kPlanes];
#pragma GCC unroll 6
      for (int j = 0; j < kReach; ++j) x[j] = hn::Load(d, half + (i * kReach + j) * kBlockLanes);
      Form::Input(d, x, y);
#pragma GCC unroll 6
      for (int j = 0; j < kPlanes; ++j) hn::StoreU(y[j], d, out + kNumbers.of[i][j] * matrix + v);
    }
  }
}

template <class Form>
void Input(const BlockedTileRows& shape, const float* image, int64_t begin, int64_t end, float* columns) {
  constexpr int64_t kReach = Form::kPlanes.reach(), kStride = Form::kPlanes.stride;
  const int64_t matrix = shape.column_matrix();
  const int64_t row_size = shape.width * kChannelBlock;
  for (int64_t block = begin; block < end; ++block) {
    const float* plane = image + block * shape.input_plane;
    float* out = columns + block * shape.tiles() * kChannelBlock;
    for (int64_t row = shape.first_row; row < shape.end_row; ++row) {
      const int64_t y = shape.y.first_pixel(row) * kStride - shape.pad_top;
      for (int64_t tile = 0; tile < shape.x.tiles(); ++tile, out += kChannelBlock) {
        const int64_t x = shape.x.first_pixel(tile) * kStride - shape.pad_left;
        if (!shape.y.leaves(y, kReach, shape.height) && !shape.x.leaves(x, kReach, shape.width)) {
          TransformTile<Form>(plane + y * row_size + x * kChannelBlock, shape.y.dilation * row_size, shape.x.dilation * kChannelBlock,
                              out, matrix);
        } else {
          HWY_ALIGN float edge[kReach * kReach * kChannelBlock];
          LoadEdgeTile<kReach>(shape, plane, y, x, edge);
          TransformTile<Form>(edge, kReach * kChannelBlock, kChannelBlock, out, matrix);
        }
      }
    }
  }
}

/// A tile's output pixels, of which the first `rows` and `columns` are stored, `row_size` and `pixel` elements apart.
template <class Form>
HWY_INLINE void FinishTile(const float* from, int64_t matrix, const BlockedEpilogue& epilogue, const float* bias,
                           const float* residual, int64_t rows, int64_t columns, int64_t row_size, int64_t pixel, float* out) {
  constexpr int kPoints = Form::kPlanes.points, kSide = Form::kPlanes.side;
  const BlockTag d;
  const Clamp clamp(epilogue);
  for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
    HWY_ALIGN float half[kSide * kPoints * kBlockLanes];
    for (int j = 0; j < kPoints; ++j) {
      BlockVector x[kPoints], y[kSide];
#pragma GCC unroll 6
      for (int i = 0; i < kPoints; ++i) x[i] = hn::LoadU(d, from + (i * kPoints + j) * matrix + v);
      Form::Output(d, x, y);
#pragma GCC unroll 4
      for (int i = 0; i < kSide; ++i) hn::Store(y[i], d, half + (i * kPoints + j) * kBlockLanes);
    }
    const auto offset = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + v);
    for (int64_t i = 0; i < rows; ++i) {
      BlockVector x[kPoints], y[kSide];
#pragma GCC unroll 6
      for (int j = 0; j < kPoints; ++j) x[j] = hn::Load(d, half + (i * kPoints + j) * kBlockLanes);
      Form::Output(d, x, y);
#pragma GCC unroll 4
      for (int j = 0; j < kSide; ++j) {
        if (j >= columns) continue;
        const int64_t at = i * row_size + j * pixel + v;
        BlockVector value = hn::Add(y[j], offset);
        if (residual != nullptr) value = hn::Add(value, hn::LoadU(d, residual + at));
        hn::StoreU(clamp.active ? clamp(value) : value, d, out + at);
      }
    }
  }
}

template <class Form>
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
        FinishTile<Form>(from, shape.product_matrix(), epilogue, bias, residual, rows, shape.x.pixels_from(x), shape.y.dilation * row_size,
                         shape.x.dilation * kChannelBlock, image + at);
      }
      for (int64_t i = 0; i < rows && activates; ++i) ActivateStored(epilogue, image + line + i * shape.y.dilation * row_size, row_size);
    }
  }
}

/// Calls what(Form()).
template <class What>
void ForForm(WinogradForm form, const What& what) {
  switch (form) {
    case WinogradForm::kFour:
      return what(FourTiles());
    case WinogradForm::kTwo:
      return what(TwoTiles());
    case WinogradForm::kStrided:
      return what(StridedTiles());
  }
}

}  // namespace

void WinogradInputInBlocks(const BlockedTileRows& shape, const float* image, int64_t begin, int64_t end, float* columns) {
  ForForm(shape.form, [&](auto form) { Input<decltype(form)>(shape, image, begin, end, columns); });
}
void WinogradOutputInBlocks(const BlockedTileRows& shape, const float* products, const BlockedEpilogue& epilogue, int64_t begin,
                            int64_t end, float* image) {
  ForForm(shape.form, [&](auto form) { Output<decltype(form)>(shape, products, epilogue, begin, end, image); });
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
