// Transforms of Winograd's convolution along one axis.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/winograd/winograd_1d.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv/winograd/winograd-inl.h"
#include "kernels/conv/winograd/winograd.h"
#include "kernels/conv/winograd/winograd_1d.h"
#include "kernels/elementwise/activate-inl.h"
#include "tessera/value.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);
constexpr int64_t kPanel = 2 * kLanes;  // GemmPanelWidth<float>()

/// The layout of a vector of tiles.
struct TilePixels {
  TilePixels(const Winograd1d& shape, int64_t tile) {
    const int64_t phase = tile % shape.phases();
    first = FirstPixel(shape, tile);
    neighbours = phase + kLanes <= shape.phases();
    last = neighbours ? first + kLanes - 1 : FirstPixel(shape, tile + kLanes - 1);
  }

  static int64_t FirstPixel(const Winograd1d& shape, int64_t tile) {
    return tile / shape.phases() * kWinograd1dTile * shape.dilation + tile % shape.phases();
  }

  int64_t first, last;  // of the first and of the last tile, their first
  bool neighbours;      // tiles begin one pixel apart
};

/// Calls body(lane, pixel) with the first pixel of each tile.
template <class Body>
HWY_INLINE void ForEachTile(const Winograd1d& shape, int64_t tile, Body&& body) {
  int64_t phase = tile % shape.phases(), pixel = TilePixels::FirstPixel(shape, tile);
  for (int64_t lane = 0; lane < kLanes; ++lane, ++pixel) {
    body(lane, pixel);
    if (++phase == shape.phases()) {
      phase = 0;
      pixel += kWinograd1dTile * shape.dilation - shape.phases();
    }
  }
}

/// The six input pixels of each of a vector of tiles; zeros outside the row.
HWY_INLINE void LoadTiles(const Winograd1d& shape, const float* channel, int64_t tile, V (&x)[6]) {
  const D d;
  const TilePixels pixels(shape, tile);
  const int64_t step = shape.dilation, begin = pixels.first - shape.pad;
  // Interleaved loads read two pixels further than the last tile.
  const bool inside = begin >= 0 && pixels.last - shape.pad + 5 * step + 2 < shape.length;
  if (inside && step == 1) {
    V unused0, unused1;
    hn::LoadInterleaved4(d, channel + begin, x[0], x[1], x[2], x[3]);
    hn::LoadInterleaved4(d, channel + begin + kWinograd1dTile, x[4], x[5], unused0, unused1);
  } else if (inside && pixels.neighbours) {
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) x[i] = hn::LoadU(d, channel + begin + i * step);
  } else {
    HWY_ALIGN float values[6 * kLanes];
    ForEachTile(shape, tile, [&](int64_t lane, int64_t pixel) {
      pixel -= shape.pad;
      if (inside) {
#pragma GCC unroll 6
        for (int64_t i = 0; i < 6; ++i) values[i * kLanes + lane] = channel[pixel + i * step];
        return;
      }
      for (int64_t i = 0; i < 6; ++i, pixel += step) {
        values[i * kLanes + lane] = pixel >= 0 && pixel < shape.length ? channel[pixel] : 0.0f;
      }
    });
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) x[i] = hn::Load(d, values + i * kLanes);
  }
}

/// The four output pixels of each of a vector of tiles; those outside the row are dropped.
HWY_INLINE void StoreTiles(const Winograd1d& shape, const V (&y)[4], int64_t tile, float* channel) {
  const D d;
  const TilePixels pixels(shape, tile);
  const int64_t step = shape.dilation;
  const bool inside = pixels.last + 3 * step < shape.output_length;
  if (inside && step == 1) {
    hn::StoreInterleaved4(y[0], y[1], y[2], y[3], d, channel + pixels.first);
  } else if (inside && pixels.neighbours) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) hn::StoreU(y[i], d, channel + pixels.first + i * step);
  } else {
    HWY_ALIGN float values[4 * kLanes];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) hn::Store(y[i], d, values + i * kLanes);
    ForEachTile(shape, tile, [&](int64_t lane, int64_t pixel) {
      if (inside) {
#pragma GCC unroll 4
        for (int64_t i = 0; i < 4; ++i) channel[pixel + i * step] = values[i * kLanes + lane];
        return;
      }
      for (int64_t i = 0; i < 4 && pixel < shape.output_length; ++i, pixel += step)
        channel[pixel] = values[i * kLanes + lane];
    });
  }
}

void InputLines(const Winograd1d& shape, const float* image, float* columns) {
  const D d;
  const int64_t panel_size = shape.channels * kPanel, matrix = shape.column_matrix();
  for (int64_t c = 0; c < shape.channels; ++c) {
    for (int64_t tile = 0; tile < shape.tiles(); tile += kLanes) {
      V x[6], y[6];
      LoadTiles(shape, image + c * shape.length, shape.first_tile + tile, x);
      InputTransform(d, x, y);
      float* to = columns + tile / kPanel * panel_size + c * kPanel + tile % kPanel;
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) hn::StoreU(y[i], d, to + i * matrix);
    }
  }
}

void OutputLines(const Winograd1d& shape, const float* matmuls, const Epilogue<float>& epilogue, float* image) {
  const D d;
  const int64_t matrix = shape.matmul_matrix();
  for (int64_t k = 0; k < shape.outputs; ++k) {
    const V offset = hn::Set(d, epilogue.bias == nullptr ? 0.0f : epilogue.bias[k]);
    const float* row = matmuls + k * shape.matmul_row();
    for (int64_t tile = 0; tile < shape.tiles(); tile += kLanes) {
      V x[6], y[4];
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) x[i] = hn::LoadU(d, row + tile + i * matrix);
      OutputTransform(d, x, y);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) y[i] = Activate(d, hn::Add(y[i], offset), epilogue.activation);
      StoreTiles(shape, y, shape.first_tile + tile, image + k * shape.output_length);
    }
  }
}

}  // namespace

void LineInput(const Winograd1d& shape, const float* image, float* columns) { InputLines(shape, image, columns); }
void LineOutput(const Winograd1d& shape, const float* matmuls, const Epilogue<float>& epilogue, float* image) {
  OutputLines(shape, matmuls, epilogue, image);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(LineInput);
HWY_EXPORT(LineOutput);

void TransformWinograd1dInput(const Winograd1d& shape, const float* image, float* columns) {
  HWY_DYNAMIC_DISPATCH(LineInput)(shape, image, columns);
}

void TransformWinograd1dOutput(const Winograd1d& shape, const float* matmuls, const Epilogue<float>& epilogue,
                               float* image) {
  HWY_DYNAMIC_DISPATCH(LineOutput)(shape, matmuls, epilogue, image);
}

}  // namespace tessera::cpu
#endif
