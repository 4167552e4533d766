// GEMM in NCHW8c: the inner loops of convolutions in that layout.

#include "base/cancellation.h"
#include "base/rounding.h"
#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw8c/gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <array>
#include <utility>
#include <vector>

#include "kernels/conv/nchw8c/nchw8c-inl.h"
#include "kernels/transpose/transpose.h"
#include "kernels/vector/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kInputBytes = 160 << 10;  // read for one depth before the next: part of L2
constexpr int64_t kTilesTogether = 32;      // before they are activated: still in L1
/// By what holds a vector: nobody asks for blocks where it holds less than one (SuitsChannelBlocks), so that gets one tile.
constexpr int ByLanes(int less, int one_block, int two_blocks) {
  return HWY_LANES(float) < kChannelBlock ? less : HWY_LANES(float) < 2 * kChannelBlock ? one_block : two_blocks;
}
// Of a tile, by its blocks: what 16 or 32 registers hold.
constexpr int kMostPixels[] = {0, ByLanes(1, 6, 12), ByLanes(1, 6, 12), ByLanes(1, 4, 12), ByLanes(0, 0, 12)};
/// Where a vector holds two blocks, two groups of them are computed together: then each input that is loaded meets two
/// vectors of weights, and loads do not bound the loop.
constexpr bool kJoinsGroups = ByLanes(0, 0, 1) != 0;
constexpr int64_t kJoined = 4;                          // blocks
constexpr int64_t kMostDepth = ByLanes(320, 320, 256);  // k at a time: the weights of a tile's blocks leave space in L1

/// Of B blocks: a vector is one block or a part of it, or two blocks where it has that many lanes and there are as many; of
/// three blocks the second vector is half full.
template <int B>
constexpr int kGroupLanes = B > 1 && HWY_LANES(float) >= 2 * kChannelBlock ? 2 * kChannelBlock : kBlockLanes;
template <int B>
using GroupTag = hn::CappedTag<float, kGroupLanes<B>>;
template <int B>
using GroupVector = hn::Vec<GroupTag<B>>;
template <int B>
constexpr int kGroupVectors = (B * kChannelBlock + kGroupLanes<B> - 1) / kGroupLanes<B>;
/// Whether vector `v` is half full.
template <int B>
constexpr bool IsHalf(int v) {
  return (v + 1) * kGroupLanes<B> > B * kChannelBlock;
}

/// Groups that are joined.
template <int B>
constexpr int kAheads = B == kJoined ? 2 : 1;

/// The offset of vector `v` of B blocks that are `block` elements apart.
template <int B>
HWY_INLINE int64_t GroupOffset(int v, int64_t block) {
  const int lane = v * kGroupLanes<B>;
  return lane / kChannelBlock * block + lane % kChannelBlock;
}

/// Vector `v` of adjacent elements: weights, biases.
template <int B>
HWY_INLINE GroupVector<B> LoadNeighbours(const float* from, int v) {
  const GroupTag<B> d;
  if constexpr (kGroupLanes<B> > kChannelBlock) {
    if (IsHalf<B>(v)) return hn::ZeroExtendVector(d, hn::LoadU(hn::Half<GroupTag<B>>(), from));
  }
  return hn::LoadU(d, from);
}

/// Vector `v` of blocks that are `block` elements apart.
template <int B>
HWY_INLINE GroupVector<B> LoadGroup(const float* from, int v, int64_t block) {
  const GroupTag<B> d;
  if constexpr (kGroupLanes<B> > kChannelBlock) {
    const hn::Half<GroupTag<B>> one;
    if (IsHalf<B>(v)) return hn::ZeroExtendVector(d, hn::LoadU(one, from));
    return hn::Combine(d, hn::LoadU(one, from + block), hn::LoadU(one, from));
  } else {
    return hn::LoadU(d, from);
  }
}

template <int B>
HWY_INLINE void StoreGroup(GroupVector<B> value, float* to, int v, int64_t block) {
  const GroupTag<B> d;
  if constexpr (kGroupLanes<B> > kChannelBlock) {
    const hn::Half<GroupTag<B>> one;
    hn::StoreU(hn::LowerHalf(one, value), one, to);
    if (!IsHalf<B>(v)) hn::StoreU(hn::UpperHalf(one, value), one, to + block);
  } else {
    hn::StoreU(value, d, to);
  }
}

/// sum += x * w. Of a vector that is half full only the half: processors that compute 512 bits as two halves need half the
/// time.
template <int B>
HWY_INLINE void AddProduct([[maybe_unused]] int v, GroupVector<B> x, GroupVector<B> w, GroupVector<B>& sum) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (kGroupLanes<B> > kChannelBlock) {
    if (IsHalf<B>(v)) {
      const hn::Half<GroupTag<B>> one;
      const auto half = hn::MulAdd(hn::LowerHalf(one, x), hn::LowerHalf(one, w), hn::LowerHalf(one, sum));
      sum = GroupVector<B>{_mm512_castps256_ps512(half.raw)};  // nobody reads the rest
      return;
    }
  }
#endif
  sum = hn::MulAdd(x, w, sum);
}

/// Some steps of a group of blocks, for tiles of neighbouring pixels.
struct TileRun {
  const float* input;
  const int64_t* pixel_offsets;
  const Nchw8cStep* steps;
  int64_t num_steps;
  const float* weights;
  int64_t group_weights;  // elements from a group's weights to those of the next, where two are joined
  float* out;
  int64_t block;  // elements from block to block
  const float* bias;
  const float* residual;
  const Epilogue<float>* epilogue;
  bool first, last;      // of the visits to the tiles
  BlockPrefetch* ahead;  // the weights that come next, of each joined group
  int64_t step;          // inputs of one
};

template <int B, int P>
HWY_INLINE void StoreTile(GroupVector<B> (&acc)[P][kGroupVectors<B>], const TileRun& run, int64_t pixel) {
  const Clamp clamp(run.epilogue->activation);
  float* out = run.out + pixel * kChannelBlock;
  const float* residual = run.last && run.residual != nullptr ? run.residual + pixel * kChannelBlock : nullptr;
  const bool clamps = run.last && clamp.active;
#pragma GCC unroll 6
  for (int v = 0; v < kGroupVectors<B>; ++v) {
    const int64_t at = GroupOffset<B>(v, run.block);
#pragma GCC unroll 12
    for (int p = 0; p < P; ++p) {
      GroupVector<B> value = acc[p][v];
      if (residual != nullptr) value = hn::Add(value, LoadGroup<B>(residual + at + p * kChannelBlock, v, run.block));
      if (clamps) value = clamp(value);
      StoreGroup<B>(value, out + at + p * kChannelBlock, v, run.block);
    }
  }
}

/// Tiles of P pixels and B blocks, with steps of S inputs; 1: of as many as the run says. kInOrder: there are no pixel
/// offsets.
template <int B, int P, int S, bool kInOrder>
void MultiplyTiles(const TileRun& run, int64_t pixel, int64_t tiles) {
  constexpr int kVectors = kGroupVectors<B>;
  const GroupTag<B> d;
  for (const int64_t end = pixel + tiles * P; pixel < end; pixel += P) {
    GroupVector<B> acc[P][kVectors];
#pragma GCC unroll 6
    for (int v = 0; v < kVectors; ++v) {
      const float* out = run.out + GroupOffset<B>(v, run.block) + pixel * kChannelBlock;
      const auto start = run.bias != nullptr ? LoadNeighbours<B>(run.bias + v * kGroupLanes<B>, v) : hn::Zero(d);
#pragma GCC unroll 12
      for (int p = 0; p < P; ++p) acc[p][v] = run.first ? start : LoadGroup<B>(out + p * kChannelBlock, v, run.block);
    }
    const float* in[P];
#pragma GCC unroll 12
    for (int p = 0; p < P; ++p) in[p] = run.input + (kInOrder ? (pixel + p) * kChannelBlock : run.pixel_offsets[pixel + p]);
    for (const Nchw8cStep *step = run.steps, *last = step + run.num_steps; step != last; ++step) {
      for (int i = 0; i < kAheads<B>; ++i) run.ahead[i].Continue();
      constexpr int kWidth = (B == kJoined ? B / 2 : B) * kChannelBlock;  // of a group's weights
      int64_t offset = step->input;
      const float* weights = run.weights + step->weights * kWidth;
      for (int64_t times = S == 1 ? run.step : 1; times > 0; --times, offset += S, weights += S * kWidth) {
#pragma GCC unroll 8
        for (int c = 0; c < S; ++c) {
          GroupVector<B> w[kVectors];
#pragma GCC unroll 6
          for (int v = 0; v < kVectors; ++v) {
            w[v] = LoadNeighbours<B>(weights + c * kWidth + (B == kJoined ? v * run.group_weights : v * kGroupLanes<B>), v);
          }
#pragma GCC unroll 12
          for (int p = 0; p < P; ++p) {
            const auto x = hn::Set(d, (kInOrder ? in[0] + p * kChannelBlock : in[p])[offset + c]);
#pragma GCC unroll 6
            for (int v = 0; v < kVectors; ++v) AddProduct<B>(v, x, w[v], acc[p][v]);
          }
        }
      }
    }
    StoreTile<B, P>(acc, run, pixel);
  }
}

using TileKernel = void (*)(const TileRun&, int64_t, int64_t);

template <int B, int S, bool kInOrder, size_t... P>
constexpr std::array<TileKernel, sizeof...(P)> TileKernels(std::index_sequence<P...>) {
  return {MultiplyTiles<B, static_cast<int>(P) + 1, S, kInOrder>...};
}

template <int B, int S, bool kInOrder = false>
TileKernel KernelForPixels(int64_t pixels) {
  static constexpr auto kKernels = TileKernels<B, S, kInOrder>(std::make_index_sequence<kMostPixels[B]>{});
  return kKernels[static_cast<size_t>(pixels - 1)];
}

template <int B>
TileKernel KernelForStep(const Nchw8cGemm& gemm, int64_t pixels) {
  switch (gemm.step) {  // usual ones have kernels of their own
    case 3: return KernelForPixels<B, 3>(pixels);
    case 4: return KernelForPixels<B, 4>(pixels);
    case 7: return KernelForPixels<B, 7>(pixels);
    case kChannelBlock:
      return gemm.pixel_offsets == nullptr ? KernelForPixels<B, kChannelBlock, true>(pixels)
                                           : KernelForPixels<B, kChannelBlock>(pixels);
    default: return KernelForPixels<B, 1>(pixels);
  }
}

TileKernel KernelFor(const Nchw8cGemm& gemm, int64_t blocks, int64_t pixels) {
  if constexpr (kJoinsGroups) {
    if (blocks == kJoined) return KernelForStep<static_cast<int>(kJoined)>(gemm, pixels);
  }
  if (blocks == 1) return KernelForStep<1>(gemm, pixels);
  return blocks == 2 ? KernelForStep<2>(gemm, pixels) : KernelForStep<3>(gemm, pixels);
}

/// Some steps of one group of blocks, or of two that are joined. `next`: weights to ask for meanwhile.
void MultiplyPart(const Nchw8cGemm& gemm, int64_t first_block, int64_t blocks, const Nchw8cPixels& pixels,
                  int64_t step_begin, int64_t step_end, const float* next) {
  // Tiles of even sizes: a last one of few pixels would take nearly as long as a whole one.
  const int64_t tiles = (pixels.count + kMostPixels[blocks] - 1) / kMostPixels[blocks];
  const int64_t size = pixels.count / tiles;
  const int64_t larger = pixels.count % tiles;
  const int64_t at = first_block * gemm.pixels * kChannelBlock;
  const Epilogue<float>& epilogue = gemm.epilogue;
  const int64_t steps = step_end - step_begin, joined = blocks == kJoined && kJoinsGroups ? 2 : 1;
  const BlockPrefetch share(steps * gemm.step * blocks / joined * kChannelBlock * int64_t{sizeof(float)},
                            tiles * pixels.rows * steps);
  BlockPrefetch ahead[2] = {share, share};
  for (int64_t i = 0; i < joined && next != nullptr; ++i)
    ahead[i].Begin(next + i * kJoined / 2 * kChannelBlock * gemm.depth);
  const TileRun run{gemm.input,
                    gemm.pixel_offsets,
                    gemm.steps + step_begin,
                    step_end - step_begin,
                    gemm.weights + first_block * kChannelBlock * gemm.depth,
                    kJoined / 2 * kChannelBlock * gemm.depth,
                    gemm.output + at,
                    gemm.pixels * kChannelBlock,
                    epilogue.bias == nullptr ? nullptr : epilogue.bias + first_block * kChannelBlock,
                    epilogue.residual == nullptr ? nullptr : epilogue.residual + at,
                    &epilogue,
                    step_begin == 0,
                    step_end == gemm.num_steps,
                    ahead,
                    gemm.step};
  const TileKernel kernel = KernelFor(gemm, blocks, size);
  const TileKernel larger_kernel = larger == 0 ? nullptr : KernelFor(gemm, blocks, size + 1);
  const bool activates = run.last && ActivatesStored(epilogue.activation.kind);
  const auto compute = [&](TileKernel tile_kernel, int64_t pixel, int64_t tile_size, int64_t end) {
    while (pixel < end) {
      const int64_t some = std::min((end - pixel) / tile_size, activates ? kTilesTogether : INT64_MAX);
      tile_kernel(run, pixel, some);
      for (int64_t b = 0; b < blocks && activates; ++b) {
        ActivateStored(epilogue, first_block + b, run.out + b * run.block + pixel * kChannelBlock,
                       some * tile_size * kChannelBlock);
      }
      pixel += some * tile_size;
    }
  };
  constexpr double kMultiplyNs = 0.02;
  const double row_ns = kMultiplyNs * static_cast<double>(pixels.count * (step_end - step_begin) * gemm.step) *
                        static_cast<double>(blocks * kChannelBlock);
  for (int64_t row = 0; row < pixels.rows; ++row) {
    CountWork(row_ns);
    const int64_t first = pixels.first + row * pixels.row;
    const int64_t middle = first + larger * (size + 1);
    if (larger > 0) compute(larger_kernel, first, size + 1, middle);
    compute(kernel, middle, size, first + pixels.count);
  }
}

/// Of a group of blocks, from a step on; null past the last.
const float* WeightsOf(const Nchw8cGemm& gemm, int64_t group, int64_t step) {
  if (step >= gemm.num_steps) return nullptr;
  const int64_t first = FirstBlock(gemm.output_blocks, group),
                width = (FirstBlock(gemm.output_blocks, group + 1) - first) * kChannelBlock;
  return gemm.weights + first * kChannelBlock * gemm.depth + gemm.steps[step].weights * width;
}

void Multiply(const Nchw8cGemm& gemm, const Nchw8cPixels& pixels, int64_t group_begin, int64_t group_end) {
  const int64_t parts = std::max<int64_t>(CeilDiv(gemm.num_steps * gemm.step, kMostDepth), 1);
  const int64_t part = std::max<int64_t>(CeilDiv(gemm.num_steps, parts), 1);
  const int64_t most = std::max<int64_t>(kInputBytes / (part * gemm.step * int64_t{sizeof(float)}), 48);
  const int64_t rounds = pixels.rows > 1 ? 1 : CeilDiv(pixels.count, most);
  for (int64_t round = 0; round < rounds; ++round) {
    Nchw8cPixels some = pixels;
    some.first = pixels.first + pixels.count * round / rounds;
    some.count = pixels.first + pixels.count * (round + 1) / rounds - some.first;
    for (int64_t step = 0; step == 0 || step < gemm.num_steps; step += part) {
      for (int64_t group = group_begin, next; group < group_end; group = next) {
        const int64_t first_block = FirstBlock(gemm.output_blocks, group);
        const auto blocks = [&](int64_t groups) { return FirstBlock(gemm.output_blocks, group + groups) - first_block; };
        next = group + (kJoinsGroups && group + 2 <= group_end && blocks(2) == kJoined ? 2 : 1);
        MultiplyPart(gemm, first_block, blocks(next - group), some, step, std::min(step + part, gemm.num_steps),
                     next < group_end ? WeightsOf(gemm, next, step) : WeightsOf(gemm, group_begin, step + part));
      }
    }
  }
}

}  // namespace

void MultiplyInNchw8c(const Nchw8cGemm& gemm, const Nchw8cPixels& pixels, int64_t group_begin, int64_t group_end) {
  Multiply(gemm, pixels, group_begin, group_end);
}

bool HoldsOneBlock() { return HWY_LANES(float) >= kChannelBlock; }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(MultiplyInNchw8c);
HWY_EXPORT(HoldsOneBlock);

bool SuitsChannelBlocks() { return HWY_DYNAMIC_DISPATCH(HoldsOneBlock)(); }

void MultiplyNchw8c(const Nchw8cGemm& gemm, const Nchw8cPixels& pixels, int64_t group_begin, int64_t group_end) {
  if (pixels.count <= 0 || pixels.rows <= 0) return;
  HWY_DYNAMIC_DISPATCH(MultiplyInNchw8c)(gemm, pixels, group_begin, group_end);
}

void PackNchw8cWeights(const float* weights, int64_t planes, int64_t unit, int64_t positions, int64_t blocks,
                       int64_t group_begin, int64_t group_end, float* packed) {
  const TransposeTile transpose = TransposeTileOf(sizeof(float));
  const int64_t rows = unit * positions, depth = planes * rows;
  std::vector<float> plane;
  for (int64_t group = group_begin; group < group_end; ++group) {
    const int64_t first = FirstBlock(blocks, group) * kChannelBlock;
    const int64_t width = FirstBlock(blocks, group + 1) * kChannelBlock - first;
    const int64_t row_bytes = width * int64_t{sizeof(float)};
    float* to = packed + first * depth;
    plane.resize(static_cast<size_t>(rows * width));
    for (int64_t i = 0; i < planes; ++i, to += rows * width) {
      const auto* from = reinterpret_cast<const std::byte*>(weights + first * depth + i * rows);
      float* transposed = unit == 1 || positions == 1 ? to : plane.data();
      transpose(from, depth * int64_t{sizeof(float)}, reinterpret_cast<std::byte*>(transposed), row_bytes, width, rows);
      if (transposed == to) continue;
      for (int64_t k = 0; k < positions; ++k) {
        for (int64_t c = 0; c < unit; ++c) {
          std::copy_n(transposed + (c * positions + k) * width, width, to + (k * unit + c) * width);
        }
      }
    }
  }
}

}  // namespace tessera::cpu
#endif
