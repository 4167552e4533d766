// Depthwise convolution with kernels of 3 and 5 and strides of 1 and 2.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise/depthwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/work_array.h"
#include "kernels/conv/depthwise/depthwise.h"
#include "kernels/conv/depthwise/depthwise_across.h"
#include "kernels/conv/pad_row-inl.h"
#include "kernels/elementwise/activate-inl.h"
#include "kernels/vector/load_first-inl.h"
#include "kernels/vector/pin-inl.h"
#include "kernels/vector/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLanes = HWY_LANES(float);

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kBandBytes = 20 << 10;  // of padded input: with the weights and the output, what fits in L1
constexpr int kTileRows = 4;

/// The layout of the padded rows of a band. With a stride of 2 the even columns come first, then the odd ones.
struct BandLayout {
  int64_t columns;     // of an input row that some output reads
  int64_t row_needed;  // elements of a padded row that some output reads
  int64_t phase;       // elements from phase to phase
  int64_t row_size;
  int64_t output_rows;  // of a band; 0: not even one tile fits
};

BandLayout LayOutBand(const DepthwiseShape& shape) {
  BandLayout layout;
  const int64_t reach = (shape.kernel - 1) / shape.stride;
  layout.row_needed = (shape.output_width - 1) * shape.stride + shape.kernel;
  layout.columns = std::clamp<int64_t>(layout.row_needed - shape.pad_left, 0, shape.width);
  layout.phase = (std::max(shape.output_width, kLanes) + reach + kLanes - 1) / kLanes * kLanes;
  if (shape.stride == 2) layout.phase += kLanes;  // SplitRows writes past the last column
  layout.row_size = shape.stride * layout.phase;
  const int64_t rows = kBandBytes / int64_t{sizeof(float)} / layout.row_size;
  const int64_t most = rows < shape.kernel ? 0 : (rows - shape.kernel) / shape.stride + 1;
  layout.output_rows = most >= shape.output_height ? shape.output_height : most / kTileRows * kTileRows;
  return layout;
}

void ActivateSpan(const Activation<float>& activation, float* values, int64_t count) {
  const D d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(Activate(d, hn::LoadU(d, values + i), activation), d, values + i);
  for (; i < count; ++i) values[i] = hn::GetLane(Activate(d, hn::Set(d, values[i]), activation));
}

/// Writes the padded rows of the band whose first output row is `first`, `row_size` apart.
HWY_INLINE void PadRows(const DepthwiseShape& shape, const BandLayout& layout, const float* plane, int64_t first,
                        int64_t rows, float* band) {
  const float* limit = plane + shape.height * shape.width;
  const int64_t row_size = layout.row_size, pad_left = shape.pad_left, columns = layout.columns,
                needed = layout.row_needed - pad_left;
  int64_t y = first * shape.stride - shape.pad_top;
  float* const end = band + rows * row_size;
  for (; y < 0 && band < end; ++y, band += row_size) Clear(band, row_size);
  const float* from = plane + y * shape.width;
  for (; y < shape.height && band < end; ++y, band += row_size, from += shape.width) {
    Clear(band, pad_left);
    CopyRow(from, limit, columns, needed, band + pad_left);
  }
  for (; band < end; band += row_size) Clear(band, row_size);
}

/// The same, the even columns apart from the odd ones.
void SplitRows(const DepthwiseShape& shape, const BandLayout& layout, const float* plane, int64_t first, int64_t rows,
               float* band) {
  const D d;
  // Offsets of column 2 * j of the input and of the one after it, padded.
  float* const evens = band + shape.pad_left % 2 * layout.phase + shape.pad_left / 2;
  float* const odds = band + (shape.pad_left + 1) % 2 * layout.phase + (shape.pad_left + 1) / 2;
  const int64_t needed = layout.row_needed - shape.pad_left;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t y = first * shape.stride - shape.pad_top + i, at = i * layout.row_size;
    if (y < 0 || y >= shape.height) {
      Clear(band + at, layout.row_size);
      continue;
    }
    Clear(band + at, shape.pad_left);
    Clear(band + at + layout.phase, shape.pad_left);
    const float* from = plane + y * shape.width;
    int64_t x = 0;
    const auto store = [&](V low, V high) HWY_ATTR {
      hn::StoreU(hn::ConcatEven(d, high, low), d, evens + at + x / 2);
      hn::StoreU(hn::ConcatOdd(d, high, low), d, odds + at + x / 2);
    };
    for (; x + 2 * kLanes <= layout.columns; x += 2 * kLanes)
      store(hn::LoadU(d, from + x), hn::LoadU(d, from + x + kLanes));
    if (x > 0 && layout.columns % 2 == 0) {
      // The last columns once more with those before them, and the zeros behind them.
      x = layout.columns - 2 * kLanes;
      store(hn::LoadU(d, from + x), hn::LoadU(d, from + x + kLanes));
      Clear(evens + at + layout.columns / 2, (needed - layout.columns + 1) / 2);
      Clear(odds + at + layout.columns / 2, (needed - layout.columns + 1) / 2);
      continue;
    }
    for (; x < needed; x += 2 * kLanes) {
      const int64_t left = std::max<int64_t>(layout.columns - x, 0);
      const V low = LoadFirst(d, from + x, std::min(left, kLanes)),
              high = LoadFirst(d, from + x + kLanes, std::max<int64_t>(left - kLanes, 0));
      store(low, high);
    }
  }
}

/// One output plane's part of a band.
struct BandOut {
  float* out;        // its first row
  const float* end;  // of the plane
  int64_t width;
  float bias;
};

/// Keeps the compiler from reading ahead of the row before: with several vectors of it that would need more registers than
/// there are.
HWY_INLINE void NextRow(const float*& row, int64_t row_size) {
  row += row_size;
#if HWY_ARCH_X86
  asm volatile("" : "+r"(row) : : "memory");
#endif
}

/// What reaches past a short row is overwritten by the next.
HWY_INLINE void StoreUpToEnd(V v, const float* end, float* to) {
  const D d;
  if (end - to >= kLanes) return hn::StoreU(v, d, to);
  HWY_ALIGN float tail[kLanes];
  hn::Store(v, d, tail);
  std::copy_n(tail, end - to, to);
}

/// R output rows by N vectors at columns x[]. `weights`: each repeated over a vector, column after column of the kernel.
template <int K, int S, int R, int N>
HWY_INLINE void Tile(const BandLayout& layout, const float* band, const float* weights, const BandOut& target, int64_t row,
                     const int64_t (&x)[N]) {
  const D d;
  // Small tiles have too few chains of additions to hide their latency: two chains for each output.
  constexpr int kParts = R * N <= (K == 3 ? 2 : 4) ? 2 : 1;
  const int64_t row_size = layout.row_size;
  V acc[kParts][R][N];
#pragma GCC unroll 2
  for (int part = 0; part < kParts; ++part) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) acc[part][r][j] = part == 0 ? hn::Set(d, target.bias) : hn::Zero(d);
    }
  }
#pragma GCC unroll 5
  for (int kx = 0; kx < K; ++kx) {
    const float* column = band + (S == 1 ? kx : kx % 2 * layout.phase + kx / 2);
    const float* from[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) from[j] = column + x[j];
#pragma GCC unroll 16
    for (int i = 0; i < (R - 1) * S + K; ++i) {
      V v[N];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) {
        if constexpr (N == 1) {
          v[j] = hn::LoadU(d, column + i * layout.row_size + x[j]);
        } else {
          v[j] = hn::LoadU(d, from[j]);
          NextRow(from[j], row_size);
        }
      }
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const int ky = i - r * S;
        if (ky < 0 || ky >= K) continue;
        V w = hn::Load(d, weights + (kx * K + ky) * kLanes);
        if (N > 1) Pin(w);
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) acc[kx % kParts][r][j] = hn::MulAdd(v[j], w, acc[kx % kParts][r][j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      V v = acc[0][r][j];
      if constexpr (kParts == 2) v = hn::Add(v, acc[1][r][j]);
      StoreUpToEnd(v, target.end, target.out + (row + r) * target.width + x[j]);
    }
  }
}

template <int K, int S, int R>
void TileRow(const BandLayout& layout, const float* band, const float* weights, const BandOut& target, int64_t row) {
  // The last vector of a row ends with it.
  const int64_t last = std::max<int64_t>(target.width - kLanes, 0);
  constexpr int kVectors = K == 3 ? 1 : 2;
  int64_t x = 0;
  if constexpr (kVectors == 2) {
    for (; x < last; x += 2 * kLanes) {
      const int64_t pair[2] = {x, std::min(x + kLanes, last)};
      Tile<K, S, R, 2>(layout, band, weights, target, row, pair);
    }
  }
  for (; x < target.width; x += kLanes) {
    const int64_t one[1] = {std::min(x, last)};
    Tile<K, S, R, 1>(layout, band, weights, target, row, one);
  }
}

/// One band of one output plane.
template <int K, int S>
void ConvolveBand(const BandLayout& layout, const float* band, const float* weights, const BandOut& target, int64_t rows,
                  BlockPrefetch& prefetch) {
  int64_t y = 0;
  const auto from = [&] { return band + y * S * layout.row_size; };
  for (; y + kTileRows <= rows; y += kTileRows) {
    prefetch.Continue();
    TileRow<K, S, kTileRows>(layout, from(), weights, target, y);
  }
  switch (rows - y) {
    case 3: return TileRow<K, S, 3>(layout, from(), weights, target, y);
    case 2: return TileRow<K, S, 2>(layout, from(), weights, target, y);
    case 1: return TileRow<K, S, 1>(layout, from(), weights, target, y);
    default: return;
  }
}

template <int K, int S>
void Planes(const DepthwiseShape& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  const D d;
  constexpr int64_t kBand = kBandBytes / int64_t{sizeof(float)};
  const WorkArray<float> padded(kBand + 2 * kLanes);
  HWY_ALIGN float weights[K * K * kLanes];
  const BandLayout layout = LayOutBand(shape);
  const int64_t pixels = shape.output_height * shape.output_width;
  const int64_t band_size = ((layout.output_rows - 1) * S + K) * layout.row_size;
  // Several small planes are laid out before the first is read: reading what was just written in other pieces would stall.
  const int64_t together = layout.output_rows < shape.output_height ? 1 : std::clamp<int64_t>(kBand / band_size, 1, 8);
  // Past what is filled, vectors read whatever is there; their results are not kept.
  std::fill_n(padded.data(), std::min(kBand, std::min(together, end - begin) * band_size) + 2 * kLanes, 0.0f);
  // Except for the smallest kernel, computing takes longer than reading: the next plane is prefetched meanwhile.
  const bool ahead = K * S > 3 && layout.output_rows == shape.output_height && together == 1;
  const int64_t plane_size = shape.height * shape.width;
  BlockPrefetch prefetch(plane_size * int64_t{sizeof(float)}, shape.multiplier * shape.output_height / kTileRows);
  for (int64_t group = begin; group < end; group += together) {
    const int64_t group_end = std::min(end, group + together);
    for (int64_t first = 0; first < shape.output_height; first += layout.output_rows) {
      const int64_t rows = std::min(layout.output_rows, shape.output_height - first);
      const int64_t padded_rows = (rows - 1) * S + K;
      for (int64_t plane = group; plane < group_end; ++plane) {
        const float* from = tensors.input + plane * plane_size;
        float* to = padded + (plane - group) * band_size;
        if constexpr (S == 1) {
          PadRows(shape, layout, from, first, padded_rows, to);
        } else {
          SplitRows(shape, layout, from, first, padded_rows, to);
        }
      }
      int64_t channel = group % shape.channels * shape.multiplier;
      float* output = tensors.output + group * shape.multiplier * pixels;
      for (int64_t plane = group; plane < group_end; ++plane) {
        const float* band = padded + (plane - group) * band_size;
        if (ahead && plane + 1 < end) prefetch.Begin(tensors.input + (plane + 1) * plane_size);
        for (int64_t i = 0; i < shape.multiplier; ++i, ++channel, output += pixels) {
          const float* from = tensors.weights + channel * K * K;
          for (int ky = 0; ky < K; ++ky) {
            for (int kx = 0; kx < K; ++kx) hn::Store(hn::Set(d, from[ky * K + kx]), d, weights + (kx * K + ky) * kLanes);
          }
          const BandOut target{output + first * shape.output_width, output + pixels, shape.output_width,
                               tensors.epilogue.bias == nullptr ? 0.0f : tensors.epilogue.bias[channel]};
          ConvolveBand<K, S>(layout, band, weights, target, rows, prefetch);
          if (tensors.epilogue.activation) {
            ActivateSpan(tensors.epilogue.activation, target.out, rows * shape.output_width);
          }
        }
        if (channel == shape.channels * shape.multiplier) channel = 0;
      }
    }
  }
}

bool Suits(const DepthwiseShape& shape) {
  if ((shape.kernel != 3 && shape.kernel != 5) || (shape.stride != 1 && shape.stride != 2)) return false;
  if (shape.pad_left >= shape.kernel || shape.pad_top >= shape.kernel) return false;
  if (std::max(shape.width, shape.output_width) > kBandBytes) return false;
  return LayOutBand(shape).output_rows > 0;
}

void Convolve(const DepthwiseShape& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  const bool one = shape.stride == 1;
  if (shape.kernel == 3) return one ? Planes<3, 1>(shape, tensors, begin, end) : Planes<3, 2>(shape, tensors, begin, end);
  return one ? Planes<5, 1>(shape, tensors, begin, end) : Planes<5, 2>(shape, tensors, begin, end);
}

}  // namespace

bool SuitsImage(const DepthwiseShape& shape) { return Suits(shape); }
void ConvolvePlanes(const DepthwiseShape& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  Convolve(shape, tensors, begin, end);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(SuitsImage);
HWY_EXPORT(ConvolvePlanes);

bool SuitsDepthwise(const DepthwiseShape& shape) { return HWY_DYNAMIC_DISPATCH(SuitsImage)(shape); }
void ConvolveDepthwise(const DepthwiseShape& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  begin = ConvolveDepthwiseAcross(shape, tensors, begin, end);
  if (begin < end) HWY_DYNAMIC_DISPATCH(ConvolvePlanes)(shape, tensors, begin, end);
}

}  // namespace tessera::cpu
#endif
