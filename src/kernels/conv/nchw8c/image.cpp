// Conversion between NCHW and NCHW8c, and operators that process a block as a whole.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw8c/image.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/conv/nchw8c/nchw8c-inl.h"
#include "kernels/transpose/transpose_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kHalf = kBlockSide<float>;
constexpr int64_t kTall = kTallBlocks * kHalf;

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

/// output = f(input, the number of its image and channel).
template <class F>
void ByChannel(const float* input, const float* numbers, int64_t pixels, int64_t begin, int64_t end, float* output, F f) {
  const BlockTag d;
  for (int64_t block = begin; block < end; ++block) {
    for (int v = 0; v < kBlockVectors; ++v) {
      const auto number = hn::LoadU(d, numbers + block * kChannelBlock + v * kBlockLanes);
      const int64_t first = block * pixels * kChannelBlock + v * kBlockLanes;
      for (int64_t i = 0; i < pixels; ++i) {
        const int64_t at = first + i * kChannelBlock;
        hn::StoreU(f(hn::LoadU(d, input + at), number), d, output + at);
      }
    }
  }
}

/// Calls move(pixel) for `together` pixels at a time, the last of which may have been moved before, or move_one(pixel)
/// where there are fewer.
template <class Move, class MoveOne>
HWY_INLINE void ForPixels(int64_t begin, int64_t end, int64_t together, const Move& move, const MoveOne& move_one) {
  if (end - begin < together) {
    for (int64_t i = begin; i < end; ++i) move_one(i);
    return;
  }
  for (int64_t i = begin; i + together <= end; i += together) move(i);
  if ((end - begin) % together != 0) move(end - together);
}

void Block(const float* planes, int64_t pixels, int64_t begin, int64_t end, float* block) {
  const auto move = [&](int64_t i) HWY_ATTR {
    for (int64_t c = 0; c < kChannelBlock; c += kTall) {
      TransposeTallBlock(planes + i + c * pixels, pixels, block + i * kChannelBlock + c, kChannelBlock);
    }
  };
  ForPixels(begin, end, kHalf, move, [&](int64_t i) {
    for (int64_t c = 0; c < kChannelBlock; ++c) block[i * kChannelBlock + c] = planes[c * pixels + i];
  });
}

void Unblock(const float* block, int64_t pixels, int64_t begin, int64_t end, int64_t channels, float* planes) {
  const int64_t whole = channels / kHalf * kHalf;  // moved four by four
  const auto move = [&](int64_t i) HWY_ATTR {
    const float* from = block + i * kChannelBlock;
    for (int64_t c = 0; c < whole; c += kHalf) TransposeTallBlock(from + c, kChannelBlock, planes + i + c * pixels, pixels);
    for (int64_t c = whole; c < channels; ++c) {
      for (int64_t k = 0; k < kTall; ++k) planes[c * pixels + i + k] = from[k * kChannelBlock + c];
    }
  };
  ForPixels(begin, end, kTall, move, [&](int64_t i) {
    for (int64_t c = 0; c < channels; ++c) planes[c * pixels + i] = block[i * kChannelBlock + c];
  });
}

}  // namespace

void AverageInNchw8c(const float* input, int64_t pixels, int64_t begin, int64_t end, float* output) {
  Average(input, pixels, begin, end, output);
}
void ScaleInNchw8c(const float* input, const float* factors, int64_t pixels, int64_t begin, int64_t end, float* output) {
  ByChannel(input, factors, pixels, begin, end, output,
            [](BlockVector x, BlockVector factor) { return hn::Mul(x, factor); });
}
void ShiftInNchw8c(const float* input, const float* offsets, int64_t pixels, int64_t begin, int64_t end, float* output) {
  ByChannel(input, offsets, pixels, begin, end, output,
            [](BlockVector x, BlockVector offset) { return hn::Add(x, offset); });
}
void BlockPixels(const float* planes, int64_t pixels, int64_t begin, int64_t end, float* block) {
  Block(planes, pixels, begin, end, block);
}
void UnblockPixels(const float* block, int64_t pixels, int64_t begin, int64_t end, int64_t channels, float* planes) {
  Unblock(block, pixels, begin, end, channels, planes);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(AverageInNchw8c);
HWY_EXPORT(ScaleInNchw8c);
HWY_EXPORT(ShiftInNchw8c);
HWY_EXPORT(BlockPixels);
HWY_EXPORT(UnblockPixels);

void AverageNchw8c(const float* input, int64_t pixels, int64_t begin, int64_t end, float* output) {
  HWY_DYNAMIC_DISPATCH(AverageInNchw8c)(input, pixels, begin, end, output);
}
void ScaleNchw8c(const float* input, const float* factors, int64_t pixels, int64_t begin, int64_t end, float* output) {
  HWY_DYNAMIC_DISPATCH(ScaleInNchw8c)(input, factors, pixels, begin, end, output);
}
void ShiftNchw8c(const float* input, const float* offsets, int64_t pixels, int64_t begin, int64_t end, float* output) {
  HWY_DYNAMIC_DISPATCH(ShiftInNchw8c)(input, offsets, pixels, begin, end, output);
}
void UseNchw8c(const float* planes, int64_t pixels, int64_t begin, int64_t end, float* block) {
  HWY_DYNAMIC_DISPATCH(BlockPixels)(planes, pixels, begin, end, block);
}
void UnblockChannels(const float* block, int64_t pixels, int64_t begin, int64_t end, int64_t channels, float* planes) {
  HWY_DYNAMIC_DISPATCH(UnblockPixels)(block, pixels, begin, end, channels, planes);
}

}  // namespace tessera::cpu
#endif
