// Transforms of Winograd's convolution on row-major images.

#include "base/rounding.h"
#include "base/work_array.h"
#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/winograd/winograd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/conv/pad_row-inl.h"
#include "kernels/conv/winograd/winograd-inl.h"
#include "kernels/conv/winograd/winograd.h"
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

constexpr int64_t kMostWinogradTaps = 11, kMostAxisWeights = 17;  // of an axis

/// What each tap of an axis adds to each of its transformed weights.
using AxisTaps = std::array<std::array<double, kMostWinogradTaps>, kMostAxisWeights>;

/// Taps [begin, end) at the five finite points of six: what a polynomial with the taps as coefficients is there, over the
/// product of the point's distances from the others. Goes to every `step`-th transformed weight.
void TakeFinitePoints(int64_t begin, int64_t end, size_t first, size_t step, AxisTaps& taps) {
  constexpr double kRootHalf = 0.70710678118654752440, kRootTwo = 1.41421356237309504880;
  constexpr double kPoints[] = {0, kRootHalf, -kRootHalf, kRootTwo, -kRootTwo}, kDistances[] = {1, -1.5, -1.5, 6, 6};
  for (size_t point = 0; point < 5; ++point) {
    double power = 1;
    for (int64_t k = begin; k < end; ++k, power *= kPoints[point])
      taps[first + point * step][static_cast<size_t>(k)] = power / kDistances[point];
  }
}

AxisTaps TapsOf(WinogradAxisForm form) {
  switch (form) {
    case WinogradAxisForm::kOne: return {{{1}}};
    case WinogradAxisForm::kTwo: return {{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
    case WinogradAxisForm::kStrided: return {{{1, 0, 0}, {0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}}};
    case WinogradAxisForm::kStridedFour:
      return {{{1, 0, 0, 0}, {0, 1, 0, 0}, {1, 0, 1, 0}, {0, 1, 0, 1}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    case WinogradAxisForm::kTransposedFour:
      return {{{0, 0, 0, 1}, {0, 1, 0, 1}, {0, -1, 0, 0}, {0, 0, 1, 0}, {1, 0, 1, 0}, {1, 0, 0, 0}}};
    case WinogradAxisForm::kTransposedThree: return {{{0, 1, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 1}, {1, 0, 0}}};
    case WinogradAxisForm::kTransposedThreeEven: return {{{0, 0, 1}, {1, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 1, 0}}};
    case WinogradAxisForm::kTransposedFive:
      return {{{0, 0, 0, 0, 1}, {0.5, 0, 0.5, 0, 0.5}, {0.5, 0, -0.5, 0, 0.5}, {0, 1}, {1}, {0, 0, 0, 1}, {0, 1, 0, 1}}};
    case WinogradAxisForm::kTransposedFiveEven:
      return {{{0, 0, 0, 0, 1}, {0.5, 0, 0.5, 0, 0.5}, {0.5, 0, -0.5, 0, 0.5}, {0, 0, 0, -1}, {1}, {0, 1, 0, 1}, {0, 1}}};
    case WinogradAxisForm::kAlternatingFour: return {{{0, 0, 0, 1}, {0, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 0, 0}}};
    case WinogradAxisForm::kAlternatingThree: return {{{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}};
    case WinogradAxisForm::kAlternatingThreeEven: return {{{0, 0, 1}, {1, 0, 0}, {0, 1, 0}}};
    case WinogradAxisForm::kSpreadTwo:
    case WinogradAxisForm::kSpreadFour: return {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    default: break;
  }
  AxisTaps taps{};
  const int64_t count = PlanesOf(form).taps;
  constexpr int64_t kTogether = 4;  // of adjacent ones, at most
  const auto parts = form == WinogradAxisForm::kTwoOfFive ? 1 : static_cast<size_t>(CeilDiv(count, kTogether));
  for (size_t part = 0; part < parts; ++part) {
    const int64_t begin = kTogether * static_cast<int64_t>(part),
                  end = parts == 1 ? count : std::min(begin + kTogether, count);
    TakeFinitePoints(begin, end, part, parts, taps);
    const bool reaches_infinity = parts == 1 || end - begin == kTogether;  // which sees the last tap of those
    if (reaches_infinity) taps[5 * parts + part][static_cast<size_t>(end - 1)] = 1;
  }
  return taps;
}

/// Elements of each of the four column phases of a padded row: a tile reads two columns of the next one.
int64_t PhaseSize(const WinogradBlock& block) { return RoundUp(block.tiles_x(), kLanes) + kLanes; }
int64_t InputRows(const WinogradBlock& block) { return (block.end_row - block.first_row) * kWinogradTile + 2; }

/// The block's rows of one channel, padded, in `phases`: every fourth column together.
void LayOutChannel(const WinogradBlock& block, const float* channel, float* padded, float* phases) {
  const D d;
  const int64_t phase = PhaseSize(block);
  const int64_t row_size = 4 * phase;
  const int64_t rows = InputRows(block);
  const float* limit = channel + block.height * block.width;
  const int64_t columns = std::clamp<int64_t>(row_size - block.pad_left, 0, block.width);
  float* to = padded;
  for (int64_t i = 0; i < rows; ++i, to += row_size) {
    const int64_t y = block.first_row * kWinogradTile - block.pad_top + i;
    if (y < 0 || y >= block.height) {
      std::fill_n(to, row_size, 0.0f);
    } else {
      Clear(to, block.pad_left);
      CopyRow(channel + y * block.width, limit, columns, row_size - block.pad_left, to + block.pad_left);
    }
  }
  for (int64_t i = 0; i < rows; ++i, padded += row_size, phases += row_size) {
    for (int64_t x = 0; x < phase; x += kLanes) {
      V v0, v1, v2, v3;
      hn::LoadInterleaved4(d, padded + 4 * x, v0, v1, v2, v3);
      hn::StoreU(v0, d, phases + x);
      hn::StoreU(v1, d, phases + phase + x);
      hn::StoreU(v2, d, phases + 2 * phase + x);
      hn::StoreU(v3, d, phases + 3 * phase + x);
    }
  }
}

/// Transforms a vector of neighbouring tiles; the i-th result goes to out[i * out_stride].
HWY_INLINE void TransformTiles(const float* phases, int64_t phase, float* out, int64_t out_stride) {
  const D d;
  const auto pixel = [=](int i, int j) HWY_ATTR { return hn::LoadU(d, phases + i * 4 * phase + j % 4 * phase + j / 4); };
  InputTile(d, pixel, out_stride, out);
}

void InputImage(const WinogradBlock& block, const float* image, int64_t begin, int64_t end, float* buffer, float* columns) {
  const int64_t phase = PhaseSize(block);
  const int64_t tiles_x = block.tiles_x();
  const int64_t panel_size = block.channels * kPanel;
  const int64_t matrix = block.column_matrix();
  float* phases = buffer + InputRows(block) * 4 * phase + 2 * kLanes;
  for (int64_t c = begin; c < end; ++c) {
    LayOutChannel(block, image + c * block.height * block.width, buffer, phases);
    for (int64_t row = 0; row < block.end_row - block.first_row; ++row) {
      for (int64_t x = 0; x < tiles_x; x += kLanes) {
        const int64_t tile = row * tiles_x + x;
        const int64_t lane = tile % kPanel;
        const int64_t count = std::min(kLanes, tiles_x - x);
        const float* from = phases + row * kWinogradTile * 4 * phase + x;
        float* to = columns + tile / kPanel * panel_size + c * kPanel + lane;
        if (lane + kLanes <= kPanel) {  // what reaches past the tiles is overwritten by the next row or not used
          TransformTiles(from, phase, to, matrix);
          continue;
        }
        HWY_ALIGN float results[kWinogradPoints * kLanes];
        TransformTiles(from, phase, results, kLanes);
        const int64_t here = std::min(count, kPanel - lane);
        for (int64_t i = 0; i < kWinogradPoints; ++i, to += matrix) {
          for (int64_t j = 0; j < here; ++j) to[j] = results[i * kLanes + j];
          float* next = to + panel_size - lane - here;
          for (int64_t j = here; j < count; ++j) next[j] = results[i * kLanes + j];
        }
      }
    }
  }
}

void OutputImage(const WinogradBlock& block, const float* matmuls, const Epilogue<float>& epilogue, int64_t begin,
                 int64_t end, float* image) {
  const D d;
  const int64_t tiles_x = block.tiles_x();
  const int64_t matmul_row = block.matmul_row();
  const int64_t product = block.matmul_matrix();
  for (int64_t k = begin; k < end; ++k) {
    const V offset = hn::Set(d, epilogue.bias == nullptr ? 0.0f : epilogue.bias[k]);
    float* plane = image + k * block.output_height * block.output_width;
    for (int64_t row = block.first_row; row < block.end_row; ++row) {
      for (int64_t tile = 0; tile < tiles_x; tile += kLanes) {
        const float* from = matmuls + k * matmul_row + (row - block.first_row) * tiles_x + tile;
        V columns[4][6];
#pragma GCC unroll 6
        for (int j = 0; j < 6; ++j) {
          V x[6], y[4];
#pragma GCC unroll 6
          for (int i = 0; i < 6; ++i) x[i] = hn::LoadU(d, from + (i * 6 + j) * product);
          OutputTransform(d, x, y);
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) columns[i][j] = y[i];
        }
        const int64_t x = tile * kWinogradTile;
        const int64_t remaining = block.output_width - x;
        const int64_t rows = std::min(kWinogradTile, block.output_height - row * kWinogradTile);
        for (int64_t i = 0; i < rows; ++i) {
          V y[4];
          OutputTransform(d, columns[i], y);
#pragma GCC unroll 4
          for (int j = 0; j < 4; ++j) y[j] = Activate(d, hn::Add(y[j], offset), epilogue.activation);
          float* to = plane + (row * kWinogradTile + i) * block.output_width + x;
          if (remaining >= 4 * kLanes) {
            hn::StoreInterleaved4(y[0], y[1], y[2], y[3], d, to);
          } else {
            HWY_ALIGN float pixels[4 * kLanes];
            hn::StoreInterleaved4(y[0], y[1], y[2], y[3], d, pixels);
            for (int64_t j = 0; j < remaining; ++j) to[j] = pixels[j];
          }
        }
      }
    }
  }
}

int64_t BufferSize(const WinogradBlock& block) { return 2 * (InputRows(block) * 4 * PhaseSize(block) + 2 * kLanes); }

}  // namespace

int64_t WinogradBuffer(const WinogradBlock& block) { return BufferSize(block); }
void WinogradInput(const WinogradBlock& block, const float* image, int64_t begin, int64_t end, float* buffer,
                   float* columns) {
  InputImage(block, image, begin, end, buffer, columns);
}
void WinogradOutput(const WinogradBlock& block, const float* matmuls, const Epilogue<float>& epilogue, int64_t begin,
                    int64_t end, float* image) {
  OutputImage(block, matmuls, epilogue, begin, end, image);
}

void WinogradFilters(WinogradForm form, const float* filters, int64_t count, int64_t matrix, float* transformed) {
  const WinogradPlanes of_y = PlanesOf(form.y), of_x = PlanesOf(form.x);
  const AxisTaps taps_y = TapsOf(form.y), taps_x = TapsOf(form.x);
  // The results of a filter are far apart: those of a cache line of filters are written together.
  constexpr int64_t kFilters = 16, kMostTaps = kMostWinogradTaps * kMostWinogradTaps,
                    kMostWeights = kMostAxisWeights * kMostAxisWeights;
  const int64_t positions = of_y.taps * of_x.taps, weights_y = of_y.num_weights(), weights_x = of_x.num_weights();
  /// The index of a transformed weight of the first filter, and the distance to the next filter's.
  struct Target {
    int64_t result, to, step;
  };
  std::array<Target, kMostWeights> targets;
  using FilterVector = float[kFilters];
  const WorkArray<FilterVector> w(kMostTaps), results(kMostWeights);
  for (int64_t point = 0, i = 0; point < form.points(); ++point) {
    const auto [planes_y, planes_x] = form.PlanesOfPoint(point);
    for (int64_t k = 0; k < planes_y * planes_x; ++k, ++i) {
      const auto [y, x] = form.AxisWeights(point, k);
      targets[static_cast<size_t>(i)] = {y * weights_x + x, form.FirstWeights(point) * matrix + k, planes_y * planes_x};
    }
  }
  for (int64_t first = 0; first < count; first += kFilters) {
    const int64_t here = std::min(kFilters, count - first);
    std::memset(w.data(), 0, kMostTaps * sizeof(FilterVector));
    for (int64_t i = 0; i < here; ++i) {
      for (int64_t p = 0; p < positions; ++p) w[p][i] = LoadUnaligned(filters + (first + i) * positions + p);
    }
    for (int64_t r = 0; r < weights_y; ++r) {
      double row_transformed[kMostWinogradTaps][kFilters] = {};
      for (int64_t c = 0; c < of_x.taps; ++c) {
        for (int64_t k = 0; k < of_y.taps; ++k) {
          if (taps_y[r][k] == 0) continue;  // times an infinite weight it would be no number
          for (int64_t i = 0; i < kFilters; ++i) row_transformed[c][i] += taps_y[r][k] * w[k * of_x.taps + c][i];
        }
      }
      for (int64_t c = 0; c < weights_x; ++c) {
        double acc[kFilters] = {};
        for (int64_t k = 0; k < of_x.taps; ++k) {
          if (taps_x[c][k] == 0) continue;
          for (int64_t i = 0; i < kFilters; ++i) acc[i] += taps_x[c][k] * row_transformed[k][i];
        }
        for (int64_t i = 0; i < kFilters; ++i) results[r * weights_x + c][i] = static_cast<float>(acc[i]);
      }
    }
    for (int64_t i = 0; i < weights_y * weights_x; ++i) {
      const auto [result, start, step] = targets[static_cast<size_t>(i)];
      float* to = transformed + start + first * step;
      for (int64_t j = 0; j < here; ++j) to[j * step] = results[result][j];
    }
  }
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(WinogradBuffer);
HWY_EXPORT(WinogradInput);
HWY_EXPORT(WinogradOutput);
HWY_EXPORT(WinogradFilters);

int64_t WinogradBufferSize(const WinogradBlock& block) { return HWY_DYNAMIC_DISPATCH(WinogradBuffer)(block); }

void TransformWinogradInput(const WinogradBlock& block, const float* image, int64_t begin, int64_t end, float* buffer,
                            float* columns) {
  HWY_DYNAMIC_DISPATCH(WinogradInput)(block, image, begin, end, buffer, columns);
}

void TransformWinogradOutput(const WinogradBlock& block, const float* matmuls, const Epilogue<float>& epilogue,
                             int64_t begin, int64_t end, float* image) {
  HWY_DYNAMIC_DISPATCH(WinogradOutput)(block, matmuls, epilogue, begin, end, image);
}

void TransformWinogradFilters(WinogradForm form, const float* filters, int64_t count, int64_t matrix, float* transformed) {
  HWY_DYNAMIC_DISPATCH(WinogradFilters)(form, filters, count, matrix, transformed);
}

}  // namespace tessera::cpu
#endif
