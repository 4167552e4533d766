#include "kernels/conv/nchw/implicit_gemm.h"

#include <hwy/cache_control.h>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw/implicit_gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/cancellation.h"
#include "base/rounding.h"
#include "kernels/elementwise/activate-inl.h"
#include "kernels/vector/copy_part-inl.h"

#ifndef TESSERA_IMPLICIT_GEMM_SIZES  // once, though this file is included per target
#define TESSERA_IMPLICIT_GEMM_SIZES
namespace tessera::cpu {
struct ImplicitGemmSizes {
  int64_t most_rows, lanes, slack;
  int64_t (*panel)(int64_t rows);
};
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int kLanes = static_cast<int>(HWY_LANES(float));
constexpr bool kMany = HWY_TARGET == HWY_AVX3;  // registers
constexpr int kMostRows = kMany ? 12 : 6;
constexpr bool kMasks = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;  // loads that read no more than they keep

/// Vectors of a panel, whose sums for so many rows stay in registers.
constexpr int VectorsOf(int rows) {
  constexpr int kOfMany[] = {0, 8, 8, 6, 5, 4, 4, 3, 3, 2, 2, 2, 2}, kOfFew[] = {0, 6, 5, 3, 2, 2, 2};
  return kMany ? kOfMany[rows] : kOfFew[rows];
}

int64_t PanelOf(int64_t rows) { return VectorsOf(static_cast<int>(rows)) * kLanes; }

/// Sums of outputs that wait for further steps of the depth, 12 KiB.
constexpr int64_t kMostSums = 3072;
static_assert(kMostSums >= int64_t{kMostRows} * 8 * kLanes);
/// Steps of the depth whose part of a panel and weights stay in the first cache until all outputs have taken them: what
/// deeper products than kDeep are divided into.
constexpr int64_t kSteps = 128, kDeep = 512;

/// Steps [begin, end) of the depth.
struct Steps {
  int64_t begin, end, all;
  int64_t prefetched;  // elements from what is read to what is prefetched
};

/// R rows by N vectors, of which the last holds `some` elements, to `tile`, which has what earlier steps added up.
template <int R, int N, bool kWhole>
void SumTile(const ImplicitGemmProblem& problem, const Steps& steps, const float* weights, int64_t at, int64_t some,
             const float* bias, float* tile) {
  const D d;
  V acc[R][N];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      if (steps.begin > 0) acc[r][j] = hn::LoadU(d, tile + (r * N + j) * kLanes);
      else acc[r][j] = bias == nullptr ? hn::Zero(d) : hn::Set(d, bias[r]);
    }
  }
  const auto mask = hn::FirstN(d, static_cast<size_t>(some));
  const float* base = problem.base + at;
  weights += steps.begin * R;
  for (int64_t k = steps.begin; k < steps.end; ++k) {
    const float* from = base + problem.offsets[static_cast<size_t>(k)];
    hwy::Prefetch(from + steps.prefetched);
    V b[N];
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j)
      b[j] = kWhole || !kMasks || j + 1 < N ? hn::LoadU(d, from + j * kLanes) : hn::MaskedLoad(mask, d, from + j * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const V w = hn::Set(d, weights[r]);
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) acc[r][j] = hn::MulAdd(w, b[j], acc[r][j]);
    }
    weights += R;
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      const bool activates = problem.epilogue.activation && steps.end == steps.all;
      const V sum = activates ? Activate(d, acc[r][j], problem.epilogue.activation) : acc[r][j];
      hn::StoreU(sum, d, tile + (r * N + j) * kLanes);
    }
  }
}

using TileFn = void (*)(const ImplicitGemmProblem&, const Steps&, const float*, int64_t, int64_t, const float*, float*);

template <int R, size_t... N>
constexpr TileFn LastTileOf(std::index_sequence<N...>, int64_t vectors) {
  constexpr TileFn tiles[] = {SumTile<R, static_cast<int>(N) + 1, false>...};
  return tiles[vectors - 1];
}

template <int R>
TileFn FindTile(int64_t vectors, bool whole) {
  constexpr int kVectors = VectorsOf(R);
  if (whole && vectors == kVectors) return SumTile<R, kVectors, true>;
  return LastTileOf<R>(std::make_index_sequence<static_cast<size_t>(kVectors)>{}, vectors);
}

template <size_t... R>
TileFn FindTile(std::index_sequence<R...>, int64_t rows, int64_t vectors, bool whole) {
  constexpr TileFn (*kOfRows[])(int64_t, bool) = {FindTile<static_cast<int>(R) + 1>...};
  return kOfRows[rows - 1](vectors, whole);
}

/// Rows of pixels, or parts of them, from `at` to `end` of the run, for `count` rows of a tile that is `width` wide.
HWY_INLINE void StoreRows(const ImplicitGemmProblem& problem, size_t first, int64_t at, int64_t end, int64_t count,
                          int64_t width, const float* tile, float* out) {
  const D d;
  for (size_t i = first; i < problem.rows.size() && problem.rows[i].from < end; ++i) {
    const PixelRow& row = problem.rows[i];
    const int64_t begin = std::max(row.from, at), length = std::min(row.from + problem.row_pixels, end) - begin;
    if (length <= 0) continue;
    CopyParts(d, length, count, tile + (begin - at), width, out + row.to + (begin - row.from), problem.out_channel);
  }
}

/// A panel of pixels from `at` on, of `count`, to the outputs from `first` to `end`: their sums are all in `sums` at a
/// time.
void SumPanel(const ImplicitGemmProblem& problem, int64_t at, int64_t count, bool whole, int64_t first, int64_t end,
              float* sums) {
  HWY_ALIGN float biases[kMostRows] = {};
  const int64_t rows = problem.block_rows, depth = static_cast<int64_t>(problem.offsets.size());
  const int64_t vectors = CeilDiv(count, int64_t{kLanes}), size = rows * vectors * kLanes;
  const TileFn sum = FindTile(std::make_index_sequence<kMostRows>{}, rows, vectors, whole);
  const int64_t parts = end - first > rows && depth > kDeep ? CeilDiv(depth, kSteps) : 1;
  for (int64_t part = 0; part < parts; ++part) {
    Steps steps{depth * part / parts, depth * (part + 1) / parts, depth, PanelOf(rows)};  // the next panel
    float* tile = sums;
    for (int64_t output = first; output < end; output += rows, tile += size) {
      CancellationPoint();
      const float* bias = problem.epilogue.bias == nullptr ? nullptr : biases;
      if (bias != nullptr) std::copy_n(problem.epilogue.bias + output, std::min(rows, problem.outputs - output), biases);
      sum(problem, steps, problem.weights + output * depth, at, count - (vectors - 1) * kLanes, bias, tile);
      steps.prefetched = 0;
    }
  }
}

void Multiply(const ImplicitGemmProblem& problem, int64_t begin, int64_t end) {
  HWY_ALIGN float sums[kMostSums + kLanes];  // a row's last vector may be read whole
  const int64_t rows = problem.block_rows, panel = PanelOf(rows);
  const int64_t together = kMostSums / (rows * panel) * rows;  // outputs
  auto first = std::ranges::upper_bound(problem.rows, begin * panel - problem.row_pixels, {}, &PixelRow::from);
  for (int64_t p = begin; p < end; ++p) {
    const int64_t at = p * panel, count = std::min(panel, problem.run - at), width = RoundUp(count, int64_t{kLanes});
    while (first != problem.rows.end() && first->from + problem.row_pixels <= at) ++first;
    for (int64_t of = 0; of < problem.outputs; of += together) {
      const int64_t last = std::min(of + together, problem.outputs);
      SumPanel(problem, at, count, count == panel, of, last, sums);
      const float* tile = sums;
      for (int64_t output = of; output < last; output += rows, tile += rows * width) {
        StoreRows(problem, static_cast<size_t>(first - problem.rows.begin()), at, at + count,
                  std::min(rows, problem.outputs - output), width, tile, problem.out + output * problem.out_channel);
      }
    }
  }
}

ImplicitGemmSizes Sizes() { return {kMostRows, kLanes, kMasks ? 0 : kLanes, PanelOf}; }

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(Multiply);
HWY_EXPORT(Sizes);

namespace {

const ImplicitGemmSizes& SizesHere() {
  static const ImplicitGemmSizes sizes = HWY_DYNAMIC_DISPATCH(Sizes)();
  return sizes;
}

}  // namespace

int64_t ImplicitGemmRows(int64_t outputs) { return CeilDiv(outputs, CeilDiv(outputs, SizesHere().most_rows)); }

int64_t ImplicitGemmSize(int64_t outputs, int64_t depth) { return RoundUp(outputs, ImplicitGemmRows(outputs)) * depth; }

void PackImplicitGemm(const float* weights, int64_t outputs, int64_t depth, float* packed) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(float));
  const int64_t rows = ImplicitGemmRows(outputs);
  const auto* from = reinterpret_cast<const std::byte*>(weights);  // which need not be aligned
  for (int64_t output = 0; output < outputs; output += rows) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t r = 0; r < rows; ++r, ++packed) {
        *packed = 0;
        if (output + r < outputs) std::memcpy(packed, from + ((output + r) * depth + k) * kSize, sizeof(float));
      }
    }
  }
}

int64_t ImplicitGemmPanel(int64_t block_rows) { return SizesHere().panel(block_rows); }

int64_t ImplicitGemmSlack() { return SizesHere().slack; }

void ImplicitGemm(const ImplicitGemmProblem& problem, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(Multiply)(problem, begin, end);
}

}  // namespace tessera::cpu
#endif
