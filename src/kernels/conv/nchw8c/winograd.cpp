// Winograd convolution in NCHW8c: a tile's transforms process the eight channels of a block at once.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw8c/winograd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <iterator>
#include <utility>

#include "kernels/conv/nchw8c/nchw8c-inl.h"
#include "kernels/conv/winograd/winograd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// A tile's pixels from (y, x) on, zeros outside the image.
template <int64_t kRows, int64_t kColumns>
HWY_INLINE void LoadEdgeTile(const Nchw8cTileRows& shape, const float* plane, int64_t y, int64_t x, float* tile) {
  const BlockTag d;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j, tile += kChannelBlock) {
      const int64_t row = y + i * shape.y.dilation, column = x + j * shape.x.dilation;
      const bool inside = row >= 0 && row < shape.height && column >= 0 && column < shape.width;
      const float* from = plane + (row * shape.width + column) * kChannelBlock;
      for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
        hn::StoreU(inside ? hn::LoadU(d, from + v) : hn::Zero(d), d, tile + v);
      }
    }
  }
}

/// A form, its transforms along both axes, and their sizes.
template <WinogradAxisForm kY, WinogradAxisForm kX>
struct Tiles {
  static constexpr WinogradForm kForm = {kY, kX};
  static constexpr WinogradPlanes kOfY = PlanesOf(kY), kOfX = PlanesOf(kX);
  using Y = WinogradTransform<kY>;
  using X = WinogradTransform<kX>;
  /// One axis has a tap only.
  static constexpr bool kDown = kX == WinogradAxisForm::kOne, kIs1d = kDown || kY == WinogradAxisForm::kOne;
  using Axis = WinogradTransform<kDown ? kY : kX>;
  static constexpr WinogradPlanes kOf1d = kDown ? kOfY : kOfX;
};

/// TransformTile along one axis, whose pixels are `step` elements apart.
template <class T>
HWY_INLINE void Transform1d(const float* from, int64_t step, float* out, int64_t matrix) {
  constexpr int kReach = T::kOf1d.reach(), kPlanes = T::kOf1d.planes;
  const BlockTag d;
  for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
    BlockVector x[kReach], y[kPlanes];
#pragma GCC unroll 13
    for (int i = 0; i < kReach; ++i) x[i] = hn::LoadU(d, from + v + i * step);
    T::Axis::Input(d, x, y);
#pragma GCC unroll 17
    for (int i = 0; i < kPlanes; ++i) hn::StoreU(y[i], d, out + i * matrix + v);
  }
}

/// `from` has `row` elements from row to row and `pixel` from pixel to pixel; the planes go to out[plane * matrix].
template <class T>
HWY_INLINE void TransformTile(const float* from, int64_t row, int64_t pixel, float* out, int64_t matrix) {
  if constexpr (T::kIs1d) return Transform1d<T>(from, T::kDown ? row : pixel, out, matrix);
  constexpr int kRows = T::kOfY.reach(), kColumns = T::kOfX.reach(), kPlanesY = T::kOfY.planes, kPlanesX = T::kOfX.planes;
  const BlockTag d;
  for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
    HWY_ALIGN float half[kPlanesY * kColumns * kBlockLanes];
    for (int j = 0; j < kColumns; ++j) {
      BlockVector x[kRows], y[kPlanesY];
#pragma GCC unroll 9
      for (int i = 0; i < kRows; ++i) x[i] = hn::LoadU(d, from + v + i * row + j * pixel);
      T::Y::Input(d, x, y);
#pragma GCC unroll 11
      for (int i = 0; i < kPlanesY; ++i) hn::Store(y[i], d, half + (i * kColumns + j) * kBlockLanes);
    }
    for (int i = 0; i < kPlanesY; ++i) {
      BlockVector x[kColumns], y[kPlanesX];
#pragma GCC unroll 9
      for (int j = 0; j < kColumns; ++j) x[j] = hn::Load(d, half + (i * kColumns + j) * kBlockLanes);
      T::X::Input(d, x, y);
#pragma GCC unroll 11
      for (int j = 0; j < kPlanesX; ++j) hn::StoreU(y[j], d, out + (i * kPlanesX + j) * matrix + v);
    }
  }
}

template <class T>
void Input(const Nchw8cTileRows& shape, const float* image, int64_t begin, int64_t end, float* columns) {
  constexpr int64_t kRows = T::kOfY.reach(), kColumns = T::kOfX.reach();
  const int64_t matrix = shape.column_matrix();
  const int64_t row_size = shape.width * kChannelBlock;
  for (int64_t block = begin; block < end; ++block) {
    const float* plane = image + block * shape.input_plane;
    float* out = columns + block * shape.tiles() * kChannelBlock;
    for (int64_t row = shape.first_row; row < shape.end_row; ++row) {
      const int64_t y = T::kOfY.InputOf(shape.y.first_pixel(row)) - shape.pad_top;
      for (int64_t tile = 0; tile < shape.x.tiles(); ++tile, out += kChannelBlock) {
        const int64_t x = T::kOfX.InputOf(shape.x.first_pixel(tile)) - shape.pad_left;
        if (!shape.y.leaves(y, kRows, shape.height) && !shape.x.leaves(x, kColumns, shape.width)) {
          TransformTile<T>(plane + y * row_size + x * kChannelBlock, shape.y.dilation * row_size,
                           shape.x.dilation * kChannelBlock, out, matrix);
        } else {
          HWY_ALIGN float edge[kRows * kColumns * kChannelBlock];
          LoadEdgeTile<kRows, kColumns>(shape, plane, y, x, edge);
          TransformTile<T>(edge, kColumns * kChannelBlock, kChannelBlock, out, matrix);
        }
      }
    }
  }
}

/// FinishTile along one axis, of whose pixels the first `pixels` are stored, `step` elements apart.
template <class T>
HWY_INLINE void Finish1d(const float* from, int64_t matrix, const Epilogue<float>& epilogue, const float* bias,
                         const float* residual, int64_t pixels, int64_t step, float* out) {
  constexpr int kPoints = T::kOf1d.points, kSide = T::kOf1d.side;
  const BlockTag d;
  const Clamp clamp(epilogue.activation);
  for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
    BlockVector x[kPoints], y[kSide];
#pragma GCC unroll 6
    for (int i = 0; i < kPoints; ++i) x[i] = hn::LoadU(d, from + i * matrix + v);
    T::Axis::Output(d, x, y);
    const auto offset = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + v);
#pragma GCC unroll 4
    for (int i = 0; i < kSide; ++i) {
      if (i >= pixels) continue;
      BlockVector value = hn::Add(y[i], offset);
      if (residual != nullptr) value = hn::Add(value, hn::LoadU(d, residual + i * step + v));
      hn::StoreU(clamp.active ? clamp(value) : value, d, out + i * step + v);
    }
  }
}

/// A tile's output pixels, of which the first `rows` and `columns` are stored, `row_size` and `pixel` elements apart.
template <class T>
HWY_INLINE void FinishTile(const float* from, int64_t matrix, const Epilogue<float>& epilogue, const float* bias,
                           const float* residual, int64_t rows, int64_t columns, int64_t row_size, int64_t pixel,
                           float* out) {
  if constexpr (T::kIs1d) {
    return Finish1d<T>(from, matrix, epilogue, bias, residual, T::kDown ? rows : columns, T::kDown ? row_size : pixel, out);
  }
  constexpr int kPointsY = T::kOfY.points, kPointsX = T::kOfX.points, kRows = T::kOfY.side, kColumns = T::kOfX.side;
  const BlockTag d;
  const Clamp clamp(epilogue.activation);
  for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
    HWY_ALIGN float half[kRows * kPointsX * kBlockLanes];
    for (int j = 0; j < kPointsX; ++j) {
      BlockVector x[kPointsY], y[kRows];
#pragma GCC unroll 7
      for (int i = 0; i < kPointsY; ++i) x[i] = hn::LoadU(d, from + (i * kPointsX + j) * matrix + v);
      T::Y::Output(d, x, y);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) hn::Store(y[i], d, half + (i * kPointsX + j) * kBlockLanes);
    }
    const auto offset = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + v);
    for (int64_t i = 0; i < rows; ++i) {
      BlockVector x[kPointsX], y[kColumns];
#pragma GCC unroll 7
      for (int j = 0; j < kPointsX; ++j) x[j] = hn::Load(d, half + (i * kPointsX + j) * kBlockLanes);
      T::X::Output(d, x, y);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        if (j >= columns) continue;
        const int64_t at = i * row_size + j * pixel + v;
        BlockVector value = hn::Add(y[j], offset);
        if (residual != nullptr) value = hn::Add(value, hn::LoadU(d, residual + at));
        hn::StoreU(clamp.active ? clamp(value) : value, d, out + at);
      }
    }
  }
}

template <class T>
void Output(const Nchw8cTileRows& shape, const float* matmuls, const Epilogue<float>& epilogue, int64_t begin, int64_t end,
            float* image) {
  const int64_t row_size = shape.x.size * kChannelBlock;
  const bool activates = ActivatesStored(epilogue.activation.kind), dilated = shape.y.dilation > 1;
  for (int64_t block = begin; block < end; ++block) {
    const float* from = matmuls + block * shape.tiles() * kChannelBlock;
    const float* bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + block * kChannelBlock;
    for (int64_t row = shape.first_row; row < shape.end_row; ++row) {
      const int64_t y = shape.y.first_pixel(row), rows = shape.y.pixels_from(y);
      const int64_t row_begin = block * shape.output_plane + y * row_size;
      for (int64_t tile = 0; tile < shape.x.tiles(); ++tile, from += kChannelBlock) {
        const int64_t x = shape.x.first_pixel(tile), at = row_begin + x * kChannelBlock;
        const float* residual = epilogue.residual == nullptr ? nullptr : epilogue.residual + at;
        FinishTile<T>(from, shape.matmul_matrix(), epilogue, bias, residual, rows, shape.x.pixels_from(x),
                      shape.y.dilation * row_size, shape.x.dilation * kChannelBlock, image + at);
      }
      for (int64_t i = 0; i < rows && activates && dilated; ++i)
        ActivateStored(epilogue, block, image + row_begin + i * shape.y.dilation * row_size, row_size);
    }
    if (!activates || dilated) continue;
    const int64_t first = shape.y.first_pixel(shape.first_row),
                  end = std::min(shape.y.first_pixel(shape.end_row), shape.y.size);
    ActivateStored(epilogue, block, image + block * shape.output_plane + first * row_size, (end - first) * row_size);
  }
}

/// Calls what(Tiles<...>()) with those of the form.
template <class What, size_t... kIndices>
void ForForm(WinogradForm form, std::index_sequence<kIndices...> /*all*/, const What& what) {
  const auto call = [&]<WinogradForm kForm>() {
    if (form != kForm) return false;
    what(Tiles<kForm.y, kForm.x>());
    return true;
  };
  (call.template operator()<kWinogradForms[kIndices]>() || ...);
}
using AllForms = std::make_index_sequence<std::size(kWinogradForms)>;

}  // namespace

void WinogradInputInNchw8c(const Nchw8cTileRows& shape, const float* image, int64_t begin, int64_t end, float* columns) {
  ForForm(shape.form, AllForms(), [&](auto tiles) { Input<decltype(tiles)>(shape, image, begin, end, columns); });
}
void WinogradOutputInNchw8c(const Nchw8cTileRows& shape, const float* matmuls, const Epilogue<float>& epilogue,
                            int64_t begin, int64_t end, float* image) {
  ForForm(shape.form, AllForms(),
          [&](auto tiles) { Output<decltype(tiles)>(shape, matmuls, epilogue, begin, end, image); });
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(WinogradInputInNchw8c);
HWY_EXPORT(WinogradOutputInNchw8c);

void TransformTileRows(const Nchw8cTileRows& shape, const float* image, int64_t begin, int64_t end, float* columns) {
  HWY_DYNAMIC_DISPATCH(WinogradInputInNchw8c)(shape, image, begin, end, columns);
}
void FinishTileRows(const Nchw8cTileRows& shape, const float* matmuls, const Epilogue<float>& epilogue, int64_t begin,
                    int64_t end, float* image) {
  HWY_DYNAMIC_DISPATCH(WinogradOutputInNchw8c)(shape, matmuls, epilogue, begin, end, image);
}

}  // namespace tessera::cpu
#endif
