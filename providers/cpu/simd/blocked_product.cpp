// Weighted sums over blocks of channels: the inner loops of convolutions in that layout.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/blocked_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <array>
#include <utility>

#include "simd/blocked-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kMostDepth = 320;              // k under way: two blocks' weights fill half of L1
constexpr int64_t kInputBytes = 160 << 10;       // read for one depth before the next: part of L2
constexpr int kMostPixels[] = {0, 6, 6, 4};      // of a tile, by its blocks

/// Where a tile's results go.
struct TileOut {
  float* out;
  int64_t block;  // elements from block to block
  const float* bias;
  const float* residual;
  const BlockedEpilogue* epilogue;
  bool first, last;  // of the visits to the tile
};

template <int B, int P>
HWY_INLINE void StoreTile(BlockVector (&acc)[P][B * kBlockVectors], const TileOut& tile) {
  const BlockTag d;
  const Clamp clamp(*tile.epilogue);
#pragma GCC unroll 6
  for (int v = 0; v < B * kBlockVectors; ++v) {
    const int64_t at = v / kBlockVectors * tile.block + v % kBlockVectors * kBlockLanes;
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      BlockVector value = acc[p][v];
      if (tile.last && tile.residual != nullptr) value = hn::Add(value, hn::LoadU(d, tile.residual + at + p * kChannelBlock));
      if (tile.last && clamp.active) value = clamp(value);
      hn::StoreU(value, d, tile.out + at + p * kChannelBlock);
    }
  }
  if (!tile.last || !ActivatesStored(*tile.epilogue)) return;
  for (int b = 0; b < B; ++b) ActivateStored(*tile.epilogue, tile.out + b * tile.block, P * kChannelBlock);
}

/// P pixels of B blocks.
template <int B, int P, int S>
void MultiplyTile(const float* const* inputs, const int64_t* offsets, int64_t steps, const float* weights, const TileOut& tile) {
  constexpr int kVectors = B * kBlockVectors;
  const BlockTag d;
  BlockVector acc[P][kVectors];
#pragma GCC unroll 6
  for (int v = 0; v < kVectors; ++v) {
    const int64_t at = v / kBlockVectors * tile.block + v % kBlockVectors * kBlockLanes;
    const BlockVector start = tile.first && tile.bias != nullptr ? hn::LoadU(d, tile.bias + v * kBlockLanes) : hn::Zero(d);
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) acc[p][v] = tile.first ? start : hn::LoadU(d, tile.out + at + p * kChannelBlock);
  }
  const float* in[P];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) in[p] = inputs[p];
  for (int64_t s = 0; s < steps; ++s) {
    const int64_t offset = offsets[s];
#pragma GCC unroll 8
    for (int c = 0; c < S; ++c) {
      BlockVector w[kVectors];
#pragma GCC unroll 6
      for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(d, weights + v * kBlockLanes);
      weights += B * kChannelBlock;
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) {
        const BlockVector x = hn::Set(d, in[p][offset + c]);
#pragma GCC unroll 6
        for (int v = 0; v < kVectors; ++v) acc[p][v] = hn::MulAdd(x, w[v], acc[p][v]);
      }
    }
  }
  StoreTile<B, P>(acc, tile);
}

using TileKernel = void (*)(const float* const*, const int64_t*, int64_t, const float*, const TileOut&);

template <int B, int S, size_t... P>
constexpr std::array<TileKernel, sizeof...(P)> TileKernels(std::index_sequence<P...>) {
  return {MultiplyTile<B, static_cast<int>(P) + 1, S>...};
}

template <int B, int S>
TileKernel KernelForPixels(int64_t pixels) {
  static constexpr auto kKernels = TileKernels<B, S>(std::make_index_sequence<kMostPixels[B]>{});
  return kKernels[static_cast<size_t>(pixels - 1)];
}

TileKernel KernelFor(int64_t blocks, int64_t pixels, int64_t step) {
  const bool one = step == 1;
  if (blocks == 1) return one ? KernelForPixels<1, 1>(pixels) : KernelForPixels<1, 8>(pixels);
  if (blocks == 2) return one ? KernelForPixels<2, 1>(pixels) : KernelForPixels<2, 8>(pixels);
  return one ? KernelForPixels<3, 1>(pixels) : KernelForPixels<3, 8>(pixels);
}

/// Some steps of one group of blocks, for some pixels.
void MultiplyPart(const BlockedProduct& product, int64_t group, int64_t begin, int64_t end, int64_t step_begin, int64_t step_end) {
  const int64_t first_block = FirstBlock(product.output_blocks, group);
  const int64_t blocks = FirstBlock(product.output_blocks, group + 1) - first_block;
  const int64_t width = blocks * kChannelBlock;
  const float* weights =
      product.weights + first_block * kChannelBlock * product.depth() + step_begin * product.step * width;
  // Tiles of even sizes: a last one of few pixels would take nearly as long as a whole one.
  const int64_t tiles = (end - begin + kMostPixels[blocks] - 1) / kMostPixels[blocks];
  const int64_t size = (end - begin) / tiles;
  const int64_t larger = (end - begin) % tiles;
  const TileKernel kernels[] = {KernelFor(blocks, std::max<int64_t>(size, 1), product.step),
                                larger == 0 ? nullptr : KernelFor(blocks, size + 1, product.step)};
  TileOut tile{nullptr,
               product.pixels * kChannelBlock,
               product.epilogue.bias == nullptr ? nullptr : product.epilogue.bias + first_block * kChannelBlock,
               nullptr,
               &product.epilogue,
               step_begin == 0,
               step_end == product.steps};
  int64_t pixel = begin;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t count = size + (t < larger ? 1 : 0);
    const float* inputs[8];
    for (int64_t p = 0; p < count; ++p) {
      inputs[p] = product.input + (product.pixel_offsets == nullptr ? (pixel + p) * kChannelBlock : product.pixel_offsets[pixel + p]);
    }
    const int64_t at = (first_block * product.pixels + pixel) * kChannelBlock;
    tile.out = product.output + at;
    tile.residual = product.epilogue.residual == nullptr ? nullptr : product.epilogue.residual + at;
    kernels[t < larger ? 1 : 0](inputs, product.step_offsets + step_begin, step_end - step_begin, weights, tile);
    pixel += count;
  }
}

void Multiply(const BlockedProduct& product, int64_t pixel_begin, int64_t pixel_end, int64_t group_begin, int64_t group_end) {
  const int64_t parts = (product.depth() + kMostDepth - 1) / kMostDepth;
  const int64_t part = (product.steps + parts - 1) / parts;
  const int64_t most = std::max<int64_t>(kInputBytes / (part * product.step * int64_t{sizeof(float)}), 48);
  const int64_t rounds = (pixel_end - pixel_begin + most - 1) / most;
  for (int64_t round = 0; round < rounds; ++round) {
    const int64_t begin = pixel_begin + (pixel_end - pixel_begin) * round / rounds;
    const int64_t end = pixel_begin + (pixel_end - pixel_begin) * (round + 1) / rounds;
    for (int64_t step = 0; step < product.steps; step += part) {
      for (int64_t group = group_begin; group < group_end; ++group) {
        MultiplyPart(product, group, begin, end, step, std::min(step + part, product.steps));
      }
    }
  }
}

}  // namespace

void MultiplyInBlocks(const BlockedProduct& product, int64_t pixel_begin, int64_t pixel_end, int64_t group_begin, int64_t group_end) {
  Multiply(product, pixel_begin, pixel_end, group_begin, group_end);
}

bool HoldsOneBlock() { return HWY_LANES(float) == kChannelBlock; }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(MultiplyInBlocks);
HWY_EXPORT(HoldsOneBlock);

bool SuitsChannelBlocks() { return HWY_DYNAMIC_DISPATCH(HoldsOneBlock)(); }

void MultiplyBlocked(const BlockedProduct& product, int64_t pixel_begin, int64_t pixel_end, int64_t group_begin, int64_t group_end) {
  if (pixel_begin >= pixel_end) return;
  HWY_DYNAMIC_DISPATCH(MultiplyInBlocks)(product, pixel_begin, pixel_end, group_begin, group_end);
}

void PackBlockedWeights(const float* weights, int64_t output_stride, const int64_t* order, int64_t depth, int64_t blocks,
                        float* packed) {
  for (int64_t group = 0; group < BlockGroups(blocks); ++group) {
    const int64_t first = FirstBlock(blocks, group) * kChannelBlock;
    const int64_t width = FirstBlock(blocks, group + 1) * kChannelBlock - first;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t i = 0; i < width; ++i) *packed++ = weights[(first + i) * output_stride + order[k]];
    }
  }
}

}  // namespace tessera::cpu
#endif
