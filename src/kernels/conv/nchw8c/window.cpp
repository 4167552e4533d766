// Windows in NCHW8c, one channel at a time: depthwise convolutions and pools.

#include "base/cancellation.h"
#include "base/rounding.h"
#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw8c/window.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/conv/nchw8c/nchw8c-inl.h"
#include "kernels/vector/nan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

constexpr int kMostPixels = 8;  // of a tile
alignas(64) constexpr float kZeros[kChannelBlock] = {};
constexpr float kLowest = -std::numeric_limits<float>::infinity();
alignas(64) constexpr float kLowests[kChannelBlock] = {kLowest, kLowest, kLowest, kLowest,
                                                       kLowest, kLowest, kLowest, kLowest};

/// Kernel positions [begin, end) of one axis that are inside the input when the window starts at `start`.
struct Taps {
  Taps(int64_t start, int64_t size, int64_t kernel, int64_t dilation) : begin(0), end(kernel) {
    if (start >= 0 && start + (kernel - 1) * dilation < size) return;  // without a division
    begin = start >= 0 ? 0 : std::min(kernel, CeilDiv(-start, dilation));
    end = start >= size ? begin : std::clamp<int64_t>(CeilDiv(size - start, dilation), begin, kernel);
  }
  int64_t size() const { return end - begin; }
  int64_t begin, end;
};

/// One output row of a block.
struct RowPlan {
  const Nchw8cWindow& window;
  Taps slices, rows;
  const float* image;    // from the window's first slice on, which may be before the first of the image
  int64_t first_y;       // of the window, may be negative
  double long_pixel_ns;  // estimated, of a row that takes so long that it looks on the way whether it is to stop; else 0
};

/// Whether column `i` of what P output pixels read can be outside the input, whose padding is narrower than the kernel:
/// none can that the first pixel ends before or the last one begins with.
template <int P, int KW, int SX>
constexpr bool MayLieOutside(int64_t i) {
  return KW == 0 || i < KW - 1 || i > (P - 1) * SX;
}

/// What is known of a row of windows: the kernel's width and the stride, with padding narrower than the kernel, or 0;
/// whether there is a dilation, and whether there may be several slices.
template <int kWidth, int kStride, bool kHasDilation, bool kHasSlices>
struct Known {
  static constexpr int KW = kWidth, SX = kStride;
  static constexpr bool kDilated = kHasDilation, kVolume = kHasSlices;
  /// Wide windows of stride 1 load each input once, for all outputs that read it, with the weights of one row in
  /// registers.
  static constexpr bool kSlides = KW == 7 && SX == 1 && !kDilated;
};
using Unknown = Known<0, 0, true, true>;

/// A row of the input to P adjacent outputs, each of which reads the KW from its own on.
template <int P, class K, bool kEdge, class Op>
HWY_INLINE void SlideAlong(const float* row_data, int64_t first_x, int64_t width, int64_t first_weight, const Op& op,
                           BlockVector (&acc)[P][kBlockVectors]) {
  const BlockTag d;
#pragma GCC unroll 2
  for (int v = 0; v < kBlockVectors; ++v) {
    BlockVector weights[K::KW];
#pragma GCC unroll 8
    for (int kx = 0; kx < K::KW; ++kx) weights[kx] = op.Weight(first_weight + kx, v);
#pragma GCC unroll 16
    for (int i = 0; i < P + K::KW - 1; ++i) {
      const int64_t read = first_x + i;
      const float* from = row_data + read * kChannelBlock;
      if constexpr (kEdge) {
        if (MayLieOutside<P, K::KW, 1>(i) && static_cast<uint64_t>(read) >= static_cast<uint64_t>(width))
          from = op.Outside();
      }
      const BlockVector x = hn::LoadU(d, from + v * kBlockLanes);
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) {
        if (i - p >= 0 && i - p < K::KW) acc[p][v] = op.Add(acc[p][v], x, weights[i - p]);
      }
    }
  }
}

/// P adjacent output pixels. kEdge: some of what is read may be outside the input.
template <int P, class K, bool kEdge, class Op>
HWY_INLINE void ComputeTile(const RowPlan& row, int64_t x, const Op& op) {
  const BlockTag d;
  const Nchw8cWindow& w = row.window;
  const int64_t kernel_width = K::KW == 0 ? w.x.kernel : K::KW;
  const int64_t stride = K::SX == 0 ? w.x.stride : K::SX;
  const int64_t dilation = K::kDilated ? w.x.dilation : 1;
  const int64_t first_x = x * stride - w.x.pad;
  int64_t first_tap = 0, end_tap = kernel_width;
  if constexpr (kEdge && K::KW == 0) {
    // Those that no pixel has inside are many in windows that are wider than the image.
    constexpr int64_t kFewTaps = 8;
    if (kernel_width > kFewTaps) {
      first_tap = Taps(first_x + (P - 1) * stride, w.x.input, kernel_width, dilation).begin;
      end_tap = std::max(first_tap, Taps(first_x, w.x.input, kernel_width, dilation).end);
    }
  }
  BlockVector acc[P][kBlockVectors];
#pragma GCC unroll 16
  for (int i = 0; i < P * kBlockVectors; ++i) acc[i / kBlockVectors][i % kBlockVectors] = op.Start(i % kBlockVectors);
  const auto add_slice = [&](const float* slice, int64_t first_weight) HWY_ATTR {
    for (int64_t ky = row.rows.begin; ky < row.rows.end; ++ky) {
      const float* row_data = slice + (row.first_y + ky * w.y.dilation) * w.x.input * kChannelBlock;
      if constexpr (K::kSlides) {
        SlideAlong<P, K, kEdge>(row_data, first_x, w.x.input, first_weight + ky * kernel_width, op, acc);
        continue;
      }
#pragma GCC unroll 7
      for (int64_t kx = first_tap; kx < end_tap; ++kx) {
        const int64_t column = first_x + kx * dilation;
#pragma GCC unroll 2
        for (int v = 0; v < kBlockVectors; ++v) {
          const auto weight = op.Weight(first_weight + ky * kernel_width + kx, v);
#pragma GCC unroll 8
          for (int p = 0; p < P; ++p) {
            const int64_t read = column + p * stride;
            const float* from = row_data + read * kChannelBlock;
            if constexpr (kEdge) {
              if ((K::kDilated || MayLieOutside<P, K::KW, K::SX>(kx + p * K::SX)) &&
                  static_cast<uint64_t>(read) >= static_cast<uint64_t>(w.x.input))
                from = op.Outside();
            }
            acc[p][v] = op.Add(acc[p][v], hn::LoadU(d, from + v * kBlockLanes), weight);
          }
        }
      }
    }
  };
  if constexpr (!K::kVolume) {
    add_slice(row.image, 0);
  } else {
    for (int64_t kz = row.slices.begin; kz < row.slices.end; ++kz) {
      add_slice(row.image + kz * w.z.dilation * w.y.input * w.x.input * kChannelBlock, kz * w.y.kernel * kernel_width);
    }
  }
  op.Store(&acc[0][0], P, row, x);
}

template <int P, class K, class Op>
HWY_INLINE void ComputeAnyTile(const RowPlan& row, int64_t x, const Op& op) {
  if (row.long_pixel_ns > 0) CountWork(P * row.long_pixel_ns);
  const Nchw8cWindow& w = row.window;
  const int64_t first = x * w.x.stride - w.x.pad;
  const int64_t last = first + (P - 1) * w.x.stride + (w.x.kernel - 1) * w.x.dilation;
  if (first >= 0 && last < w.x.input) return ComputeTile<P, K, false>(row, x, op);
  ComputeTile<P, K, true>(row, x, op);
}

template <class K, class Op>
void ComputeRow(const RowPlan& row, const Op& op) {
  const int64_t width = row.window.x.output;
  int64_t x = 0;
  if constexpr (HWY_LANES(float) >= kChannelBlock) {  // else nobody asks for blocks: SuitsChannelBlocks
    if (width % 7 == 0) {                             // the usual images
      for (; x < width; x += 7) ComputeAnyTile<7, K>(row, x, op);
      return;
    }
    for (; x + kMostPixels <= width; x += kMostPixels) ComputeAnyTile<kMostPixels, K>(row, x, op);
    for (; x + 4 <= width; x += 4) ComputeAnyTile<4, K>(row, x, op);
    for (; x + 2 <= width; x += 2) ComputeAnyTile<2, K>(row, x, op);
  }
  for (; x < width; ++x) ComputeAnyTile<1, K>(row, x, op);
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
  HWY_INLINE BlockVector Add(BlockVector sum, BlockVector x, BlockVector weight) const {
    return hn::MulAdd(x, weight, sum);
  }
  HWY_INLINE const float* Outside() const { return kZeros; }
  HWY_INLINE void Store(BlockVector* sums, int pixels, const RowPlan&, int64_t x) const {
    const BlockTag d;
    const int count = pixels * kBlockVectors;
    float* to = out + x * kChannelBlock;
    if (residual != nullptr) {
#pragma GCC unroll 16
      for (int i = 0; i < count; ++i)
        sums[i] = hn::Add(sums[i], hn::LoadU(d, residual + x * kChannelBlock + i * kBlockLanes));
    }
    if (clamp.active) {
#pragma GCC unroll 16
      for (int i = 0; i < count; ++i) sums[i] = clamp(sums[i]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) hn::StoreU(sums[i], d, to + i * kBlockLanes);
  }
};

struct MaxRow {
  float* out;

  HWY_INLINE BlockVector Start(int) const { return hn::Set(BlockTag(), -std::numeric_limits<float>::infinity()); }
  HWY_INLINE int Weight(int64_t, int) const { return 0; }
  HWY_INLINE BlockVector Add(BlockVector most, BlockVector x, int) const { return MaxOrNan(most, x); }
  HWY_INLINE const float* Outside() const { return kLowests; }
  HWY_INLINE void Store(const BlockVector* most, int pixels, const RowPlan&, int64_t x) const {
#pragma GCC unroll 16
    for (int i = 0; i < pixels * kBlockVectors; ++i)
      hn::StoreU(most[i], BlockTag(), out + x * kChannelBlock + i * kBlockLanes);
  }
};

struct AverageRow {
  float* out;
  int64_t fixed_count;  // 0: the positions inside the input

  HWY_INLINE BlockVector Start(int) const { return hn::Zero(BlockTag()); }
  HWY_INLINE int Weight(int64_t, int) const { return 0; }
  HWY_INLINE BlockVector Add(BlockVector sum, BlockVector x, int) const { return hn::Add(sum, x); }
  HWY_INLINE const float* Outside() const { return kZeros; }
  HWY_INLINE void Store(const BlockVector* sums, int pixels, const RowPlan& row, int64_t x) const {
    const BlockTag d;
    const Nchw8cAxis& axis = row.window.x;
#pragma GCC unroll 8
    for (int p = 0; p < pixels; ++p) {
      const Taps columns((x + p) * axis.stride - axis.pad, axis.input, axis.kernel, axis.dilation);
      const int64_t inside = row.slices.size() * row.rows.size() * columns.size();
      const int64_t count = fixed_count != 0 ? fixed_count : std::max<int64_t>(inside, 1);  // all padding: 0
#pragma GCC unroll 2
      for (int i = p * kBlockVectors; i < (p + 1) * kBlockVectors; ++i) {
        hn::StoreU(hn::Div(sums[i], hn::Set(d, static_cast<float>(count))), d, out + x * kChannelBlock + i * kBlockLanes);
      }
    }
  }
};

/// Calls compute(plan, image, row) for rows [begin, end) of the outputs of all images, or blocks.
template <class Compute>
void ForRows(const Nchw8cWindow& w, const float* input, int64_t begin, int64_t end, const Compute& compute) {
  constexpr double kTapNs = 0.3;
  const int64_t row_data = w.x.input * kChannelBlock;
  int64_t y = begin % w.y.output, z = begin / w.y.output % w.z.output, image = begin / w.y.output / w.z.output;
  for (int64_t row = begin; row < end; ++image, z = 0) {
    for (; row < end && z < w.z.output; ++z, y = 0) {
      const int64_t first_z = z * w.z.stride - w.z.pad;
      const Taps slices(first_z, w.z.input, w.z.kernel, w.z.dilation);
      const float* first = input + (image * w.z.input + first_z) * w.y.input * row_data;
      for (; row < end && y < w.y.output; ++y, ++row) {
        const int64_t first_y = y * w.y.stride - w.y.pad;
        Taps rows(first_y, w.y.input, w.y.kernel, w.y.dilation);
        if (slices.size() == 0) rows.end = rows.begin;
        const double pixel_ns = kTapNs * static_cast<double>(slices.size() * rows.size() * w.x.kernel);
        const bool is_long = pixel_ns * static_cast<double>(w.x.output) > kCancellationPointNs;
        compute(RowPlan{w, slices, rows, first, first_y, is_long ? pixel_ns : 0}, image, row);
      }
    }
  }
}

using DepthwiseKernel = void (*)(const RowPlan&, const DepthwiseRow&);

DepthwiseKernel DepthwiseRowKernel(const Nchw8cWindow& w) {
  const Nchw8cAxis& x = w.x;
  const bool wide_pads = x.pad >= x.kernel || (x.output - 1) * x.stride - x.pad >= x.input;
  const bool one = x.stride == 1, volume = w.z.kernel > 1;
  const auto by_stride = [&]<int KW, bool kVolume>() {
    return one ? ComputeRow<Known<KW, 1, false, kVolume>, DepthwiseRow>
               : ComputeRow<Known<KW, 2, false, kVolume>, DepthwiseRow>;
  };
  if (x.dilation != 1 && one && !volume && x.kernel == 3) return ComputeRow<Known<3, 1, true, false>, DepthwiseRow>;
  if (x.dilation != 1 && one && !volume && x.kernel == 5) return ComputeRow<Known<5, 1, true, false>, DepthwiseRow>;
  if (x.dilation != 1 || x.stride > 2 || wide_pads) return ComputeRow<Unknown, DepthwiseRow>;
  if (x.kernel == 3) return volume ? by_stride.operator()<3, true>() : by_stride.operator()<3, false>();
  if (x.kernel == 5 && !volume) return by_stride.operator()<5, false>();
  if (x.kernel == 7 && !volume) return by_stride.operator()<7, false>();
  return ComputeRow<Unknown, DepthwiseRow>;
}

void Depthwise(const Nchw8cWindow& w, const float* input, const float* weights, int64_t blocks,
               const Epilogue<float>& epilogue, int64_t begin, int64_t end, float* output) {
  const int64_t row_size = w.x.output * kChannelBlock;
  const auto compute = DepthwiseRowKernel(w);
  DepthwiseRow op{nullptr, nullptr, nullptr, nullptr, Clamp(epilogue.activation)};
  int64_t current = -1;
  ForRows(w, input, begin, end, [&](const RowPlan& plan, int64_t image, int64_t row) {
    if (image != current) {
      const int64_t block = image % blocks;
      op.weights = weights + block * w.positions() * kChannelBlock;
      op.bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + block * kChannelBlock;
      current = image;
    }
    op.residual = epilogue.residual == nullptr ? nullptr : epilogue.residual + row * row_size;
    op.out = output + row * row_size;
    compute(plan, op);
    if (ActivatesStored(epilogue.activation.kind)) ActivateStored(epilogue, image % blocks, op.out, row_size);
  });
}

void Pool(const Nchw8cWindow& w, Nchw8cPool kind, const float* input, int64_t begin, int64_t end, float* output) {
  const int64_t fixed_count = kind == Nchw8cPool::kAverageWithPads ? w.positions() : 0;
  ForRows(w, input, begin, end, [&](const RowPlan& plan, int64_t, int64_t row) {
    float* out = output + row * w.x.output * kChannelBlock;
    kind == Nchw8cPool::kMax ? ComputeRow<Unknown>(plan, MaxRow{out})
                             : ComputeRow<Unknown>(plan, AverageRow{out, fixed_count});
  });
}

}  // namespace

void DepthwiseInNchw8c(const Nchw8cWindow& w, const float* input, const float* weights, int64_t blocks,
                       const Epilogue<float>& epilogue, int64_t begin, int64_t end, float* output) {
  Depthwise(w, input, weights, blocks, epilogue, begin, end, output);
}
void PoolInNchw8c(const Nchw8cWindow& w, Nchw8cPool kind, const float* input, int64_t begin, int64_t end, float* output) {
  Pool(w, kind, input, begin, end, output);
}
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(DepthwiseInNchw8c);
HWY_EXPORT(PoolInNchw8c);

void ConvolveNchw8cDepthwise(const Nchw8cWindow& window, const float* input, const float* weights, int64_t blocks,
                             const Epilogue<float>& epilogue, int64_t begin, int64_t end, float* output) {
  HWY_DYNAMIC_DISPATCH(DepthwiseInNchw8c)(window, input, weights, blocks, epilogue, begin, end, output);
}
void PoolNchw8c(const Nchw8cWindow& window, Nchw8cPool kind, const float* input, int64_t begin, int64_t end,
                float* output) {
  HWY_DYNAMIC_DISPATCH(PoolInNchw8c)(window, kind, input, begin, end, output);
}
}  // namespace tessera::cpu
#endif
