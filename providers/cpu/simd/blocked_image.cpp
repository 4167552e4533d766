// Blocks of channels, one channel at a time: depthwise convolutions, pools, and the way into and out of the layout.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/blocked_image.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/blocked-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

constexpr int kTile = 6;  // output pixels under way

/// Kernel positions [begin, end) of one axis that lie inside the input when the window starts at `start`.
struct Taps {
  Taps(int64_t start, int64_t size, int64_t kernel, int64_t dilation) {
    begin = start >= 0 ? 0 : std::min(kernel, (-start + dilation - 1) / dilation);
    end = start >= size ? begin : std::clamp<int64_t>((size - start + dilation - 1) / dilation, begin, kernel);
  }
  int64_t begin, end;
};

/// Output columns [begin, end) whose windows lie inside the input's rows.
struct Interior {
  explicit Interior(const BlockedWindow& w) {
    const int64_t reach = (w.kernel_width - 1) * w.dilation_x;
    begin = std::min(w.output_width, (w.pad_left + w.stride_x - 1) / w.stride_x);
    const int64_t room = w.width - 1 - reach + w.pad_left;
    end = room < 0 ? begin : std::clamp(room / w.stride_x + 1, begin, w.output_width);
  }
  int64_t begin, end;
};

/// One output row of a block: `visit(window position, columns)` by tiles of P neighbours, which share their kernel positions.
struct RowPlan {
  const BlockedWindow& window;
  const float* plane;
  int64_t first_y;  // of the window in the input, may be negative
  Taps rows;
};

template <int P, class Op>
HWY_INLINE void ComputeTile(const RowPlan& row, int64_t x, const Taps& columns, const Op& op) {
  const BlockTag d;
  const BlockedWindow& w = row.window;
  BlockVector acc[P][kBlockVectors];
#pragma GCC unroll 12
  for (int i = 0; i < P * kBlockVectors; ++i) acc[i / kBlockVectors][i % kBlockVectors] = op.Start(i % kBlockVectors);
  const int64_t pixel = w.stride_x * kChannelBlock;
  for (int64_t ky = row.rows.begin; ky < row.rows.end; ++ky) {
    const float* line = row.plane + (row.first_y + ky * w.dilation_y) * w.width * kChannelBlock;
    for (int64_t kx = columns.begin; kx < columns.end; ++kx) {
      const float* from = line + (x * w.stride_x - w.pad_left + kx * w.dilation_x) * kChannelBlock;
#pragma GCC unroll 2
      for (int v = 0; v < kBlockVectors; ++v) {
        const auto weight = op.Weight(ky * w.kernel_width + kx, v);
#pragma GCC unroll 6
        for (int p = 0; p < P; ++p) acc[p][v] = op.Add(acc[p][v], hn::LoadU(d, from + p * pixel + v * kBlockLanes), weight);
      }
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < P * kBlockVectors; ++i) {
    op.Store(acc[i / kBlockVectors][i % kBlockVectors], x + i / kBlockVectors, i % kBlockVectors, row.rows, columns);
  }
}

template <class Op>
void ComputeRow(const RowPlan& row, const Interior& interior, const Op& op) {
  const BlockedWindow& w = row.window;
  const auto edge = [&](int64_t x) {
    ComputeTile<1>(row, x, Taps(x * w.stride_x - w.pad_left, w.width, w.kernel_width, w.dilation_x), op);
  };
  const Taps all(0, INT64_MAX / 2, w.kernel_width, w.dilation_x);
  for (int64_t x = 0; x < interior.begin; ++x) edge(x);
  int64_t x = interior.begin;
  for (; x + kTile <= interior.end; x += kTile) ComputeTile<kTile>(row, x, all, op);
  for (; x + 3 <= interior.end; x += 3) ComputeTile<3>(row, x, all, op);
  for (; x < interior.end; ++x) ComputeTile<1>(row, x, all, op);
  for (; x < w.output_width; ++x) edge(x);
}

struct DepthwiseRow {
  const float* weights;
  const float* bias;
  const float* residual;
  float* out;
  Clamp clamp;

  HWY_INLINE BlockVector Start(int v) const {
    const BlockTag d;
    return bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + v * kBlockLanes);
  }
  HWY_INLINE BlockVector Weight(int64_t at, int v) const {
    return hn::LoadU(BlockTag(), weights + at * kChannelBlock + v * kBlockLanes);
  }
  HWY_INLINE BlockVector Add(BlockVector sum, BlockVector x, BlockVector weight) const { return hn::MulAdd(x, weight, sum); }
  HWY_INLINE void Store(BlockVector sum, int64_t x, int v, const Taps&, const Taps&) const {
    const BlockTag d;
    const int64_t at = x * kChannelBlock + v * kBlockLanes;
    if (residual != nullptr) sum = hn::Add(sum, hn::LoadU(d, residual + at));
    if (clamp.active) sum = clamp(sum);
    hn::StoreU(sum, d, out + at);
  }
};

struct MaxRow {
  float* out;

  HWY_INLINE BlockVector Start(int) const { return hn::Set(BlockTag(), -std::numeric_limits<float>::infinity()); }
  HWY_INLINE int Weight(int64_t, int) const { return 0; }
  HWY_INLINE BlockVector Add(BlockVector most, BlockVector x, int) const { return hn::Max(most, x); }
  HWY_INLINE void Store(BlockVector most, int64_t x, int v, const Taps&, const Taps&) const {
    hn::StoreU(most, BlockTag(), out + x * kChannelBlock + v * kBlockLanes);
  }
};

struct AverageRow {
  float* out;
  int64_t fixed_count;  // 0: the positions inside the input

  HWY_INLINE BlockVector Start(int) const { return hn::Zero(BlockTag()); }
  HWY_INLINE int Weight(int64_t, int) const { return 0; }
  HWY_INLINE BlockVector Add(BlockVector sum, BlockVector x, int) const { return hn::Add(sum, x); }
  HWY_INLINE void Store(BlockVector sum, int64_t x, int v, const Taps& rows, const Taps& columns) const {
    const BlockTag d;
    const int64_t inside = (rows.end - rows.begin) * (columns.end - columns.begin);
    const int64_t count = fixed_count != 0 ? fixed_count : std::max<int64_t>(inside, 1);  // all padding: 0
    hn::StoreU(hn::Div(sum, hn::Set(d, static_cast<float>(count))), d, out + x * kChannelBlock + v * kBlockLanes);
  }
};

RowPlan PlanRow(const BlockedWindow& w, const float* input, int64_t row) {
  const int64_t first_y = row % w.output_height * w.stride_y - w.pad_top;
  return {w, input + row / w.output_height * w.height * w.width * kChannelBlock, first_y,
          Taps(first_y, w.height, w.kernel_height, w.dilation_y)};
}

void Depthwise(const BlockedWindow& w, const float* input, const float* weights, int64_t blocks, const BlockedEpilogue& epilogue,
               int64_t begin, int64_t end, float* output) {
  const Interior interior(w);
  const int64_t row_size = w.output_width * kChannelBlock;
  DepthwiseRow op{nullptr, nullptr, nullptr, nullptr, Clamp(epilogue)};
  for (int64_t row = begin; row < end; ++row) {
    const int64_t block = row / w.output_height % blocks;
    op.weights = weights + block * w.kernel_height * w.kernel_width * kChannelBlock;
    op.bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + block * kChannelBlock;
    op.residual = epilogue.residual == nullptr ? nullptr : epilogue.residual + row * row_size;
    op.out = output + row * row_size;
    ComputeRow(PlanRow(w, input, row), interior, op);
    if (ActivatesStored(epilogue)) ActivateStored(epilogue, op.out, row_size);
  }
}

void Pool(const BlockedWindow& w, BlockedPool kind, const float* input, int64_t begin, int64_t end, float* output) {
  const Interior interior(w);
  const int64_t fixed_count = kind == BlockedPool::kAverageWithPads ? w.kernel_height * w.kernel_width : 0;
  for (int64_t row = begin; row < end; ++row) {
    float* out = output + row * w.output_width * kChannelBlock;
    const RowPlan plan = PlanRow(w, input, row);
    kind == BlockedPool::kMax ? ComputeRow(plan, interior, MaxRow{out}) : ComputeRow(plan, interior, AverageRow{out, fixed_count});
  }
}

void Average(const float* input, int64_t pixels, int64_t begin, int64_t end, float* output) {
  const BlockTag d;
  for (int64_t block = begin; block < end; ++block) {
    const float* from = input + block * pixels * kChannelBlock;
    for (int v = 0; v < kBlockVectors; ++v, from += kBlockLanes) {
      BlockVector sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
      int64_t i = 0;
      for (; i + 4 <= pixels; i += 4) {
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) sums[u] = hn::Add(sums[u], hn::LoadU(d, from + (i + u) * kChannelBlock));
      }
      for (; i < pixels; ++i) sums[0] = hn::Add(sums[0], hn::LoadU(d, from + i * kChannelBlock));
      const auto sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
      hn::StoreU(hn::Div(sum, hn::Set(d, static_cast<float>(pixels))), d, output + block * kChannelBlock + v * kBlockLanes);
    }
  }
}

void Scale(const float* input, const float* factors, int64_t pixels, int64_t begin, int64_t end, float* output) {
  const BlockTag d;
  for (int64_t block = begin; block < end; ++block) {
    for (int v = 0; v < kBlockVectors; ++v) {
      const auto factor = hn::LoadU(d, factors + block * kChannelBlock + v * kBlockLanes);
      const int64_t first = block * pixels * kChannelBlock + v * kBlockLanes;
      for (int64_t i = 0; i < pixels; ++i) {
        const int64_t at = first + i * kChannelBlock;
        hn::StoreU(hn::Mul(hn::LoadU(d, input + at), factor), d, output + at);
      }
    }
  }
}

using Quad = hn::FixedTag<float, 4>;

/// Four rows of four, `from_row` apart, to their columns as rows.
HWY_INLINE void Transpose4(const float* from, int64_t from_row, float* to, int64_t to_row) {
  const Quad d;
  const hn::Repartition<double, Quad> dd;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + from_row);
  const auto r2 = hn::LoadU(d, from + 2 * from_row), r3 = hn::LoadU(d, from + 3 * from_row);
  const auto q0 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1)), q1 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
  const auto q2 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1)), q3 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, q0, q1)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, q0, q1)), d, to + to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, q2, q3)), d, to + 2 * to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, q2, q3)), d, to + 3 * to_row);
}

void Block(const float* planes, int64_t pixels, int64_t begin, int64_t end, float* block) {
  int64_t i = begin;
  for (; i + 4 <= end; i += 4) {
    Transpose4(planes + i, pixels, block + i * kChannelBlock, kChannelBlock);
    Transpose4(planes + i + 4 * pixels, pixels, block + i * kChannelBlock + 4, kChannelBlock);
  }
  for (; i < end; ++i) {
    for (int64_t c = 0; c < kChannelBlock; ++c) block[i * kChannelBlock + c] = planes[c * pixels + i];
  }
}

void Unblock(const float* block, int64_t pixels, int64_t begin, int64_t end, float* planes) {
  int64_t i = begin;
  for (; i + 4 <= end; i += 4) {
    Transpose4(block + i * kChannelBlock, kChannelBlock, planes + i, pixels);
    Transpose4(block + i * kChannelBlock + 4, kChannelBlock, planes + i + 4 * pixels, pixels);
  }
  for (; i < end; ++i) {
    for (int64_t c = 0; c < kChannelBlock; ++c) planes[c * pixels + i] = block[i * kChannelBlock + c];
  }
}

}  // namespace

void DepthwiseInBlocks(const BlockedWindow& w, const float* input, const float* weights, int64_t blocks,
                       const BlockedEpilogue& epilogue, int64_t begin, int64_t end, float* output) {
  Depthwise(w, input, weights, blocks, epilogue, begin, end, output);
}
void PoolInBlocks(const BlockedWindow& w, BlockedPool kind, const float* input, int64_t begin, int64_t end, float* output) {
  Pool(w, kind, input, begin, end, output);
}
void AverageInBlocks(const float* input, int64_t pixels, int64_t begin, int64_t end, float* output) {
  Average(input, pixels, begin, end, output);
}
void ScaleInBlocks(const float* input, const float* factors, int64_t pixels, int64_t begin, int64_t end, float* output) {
  Scale(input, factors, pixels, begin, end, output);
}
void BlockPixels(const float* planes, int64_t pixels, int64_t begin, int64_t end, float* block) {
  Block(planes, pixels, begin, end, block);
}
void UnblockPixels(const float* block, int64_t pixels, int64_t begin, int64_t end, float* planes) {
  Unblock(block, pixels, begin, end, planes);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(DepthwiseInBlocks);
HWY_EXPORT(PoolInBlocks);
HWY_EXPORT(AverageInBlocks);
HWY_EXPORT(ScaleInBlocks);
HWY_EXPORT(BlockPixels);
HWY_EXPORT(UnblockPixels);

void ConvolveBlockedDepthwise(const BlockedWindow& window, const float* input, const float* weights, int64_t blocks,
                              const BlockedEpilogue& epilogue, int64_t begin, int64_t end, float* output) {
  HWY_DYNAMIC_DISPATCH(DepthwiseInBlocks)(window, input, weights, blocks, epilogue, begin, end, output);
}
void PoolBlocked(const BlockedWindow& window, BlockedPool kind, const float* input, int64_t begin, int64_t end, float* output) {
  HWY_DYNAMIC_DISPATCH(PoolInBlocks)(window, kind, input, begin, end, output);
}
void AverageBlocked(const float* input, int64_t pixels, int64_t begin, int64_t end, float* output) {
  HWY_DYNAMIC_DISPATCH(AverageInBlocks)(input, pixels, begin, end, output);
}
void ScaleBlocked(const float* input, const float* factors, int64_t pixels, int64_t begin, int64_t end, float* output) {
  HWY_DYNAMIC_DISPATCH(ScaleInBlocks)(input, factors, pixels, begin, end, output);
}
void BlockChannels(const float* planes, int64_t pixels, int64_t begin, int64_t end, float* block) {
  HWY_DYNAMIC_DISPATCH(BlockPixels)(planes, pixels, begin, end, block);
}
void UnblockChannels(const float* block, int64_t pixels, int64_t begin, int64_t end, float* planes) {
  HWY_DYNAMIC_DISPATCH(UnblockPixels)(block, pixels, begin, end, planes);
}

}  // namespace tessera::cpu
#endif
