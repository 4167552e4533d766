// Group normalization in NCHW8c.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw8c/group_normalization.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/conv/nchw8c/nchw8c-inl.h"
#include "kernels/normalize/moments.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

using LaneTotals = std::array<double, kChannelBlock>;

/// A block's sums of x, or of (x - shift)^2, channel by channel.
template <bool kSquares>
LaneTotals SumLanes(const float* from, int64_t pixels, const float* shift) {
  const BlockTag d;
  LaneTotals totals;
  for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
    const auto about = hn::Load(d, shift + v);
    const auto add = [&](BlockVector sum, int64_t pixel) HWY_ATTR {
      const auto x = hn::LoadU(d, from + pixel * kChannelBlock + v);
      if constexpr (!kSquares) return hn::Add(sum, x);
      const auto centered = hn::Sub(x, about);
      return hn::MulAdd(centered, centered, sum);
    };
    BlockVector sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    int64_t i = 0;
    for (; i + 4 <= pixels; i += 4) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) sums[u] = add(sums[u], i + u);
    }
    for (; i < pixels; ++i) sums[0] = add(sums[0], i);
    HWY_ALIGN float lanes[kBlockLanes];
    hn::Store(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])), d, lanes);
    std::copy_n(lanes, kBlockLanes, totals.begin() + v);
  }
  return totals;
}

using LaneMoments = std::array<Moments, kChannelBlock>;

/// Joins a block's moments, channel by channel: runs of pixels stay in L1 while they are read twice.
void AddBlock(const float* from, int64_t pixels, LaneMoments& moments) {
  constexpr int64_t kRun = 512;
  for (int64_t begin = 0; begin < pixels; begin += kRun) {
    const float* run = from + begin * kChannelBlock;
    const int64_t size = std::min(kRun, pixels - begin);
    const auto count = static_cast<double>(size);
    HWY_ALIGN float shift[kChannelBlock] = {};
    LaneTotals mean = SumLanes<false>(run, size, shift);
    for (size_t i = 0; i < mean.size(); ++i) shift[i] = static_cast<float>(mean[i] /= count);
    const LaneTotals squares = SumLanes<true>(run, size, shift);
    for (size_t i = 0; i < mean.size(); ++i) {
      moments[i] =
          Join(moments[i], {mean[i], SquaresAboutMean(squares[i], mean[i], static_cast<double>(shift[i]), count), count});
    }
  }
}

/// Gives all channels of a group, `lanes` of them, the moments of the group.
void JoinLanes(LaneMoments& moments, size_t lanes) {
  for (size_t first = 0; first < moments.size(); first += lanes) {
    Moments group;
    for (size_t i = first; i < first + lanes; ++i) group = Join(group, moments[i]);
    std::fill_n(moments.begin() + static_cast<ptrdiff_t>(first), lanes, group);
  }
}

void NormalizeGroup(const Nchw8cGroups& groups, const float* input, const float* scale, const float* bias, float* output) {
  const BlockTag d;
  const int64_t plane = groups.pixels * kChannelBlock;
  LaneMoments moments;
  for (int64_t b = 0; b < groups.blocks; ++b) AddBlock(input + b * plane, groups.pixels, moments);
  JoinLanes(moments, static_cast<size_t>(groups.lanes));
  HWY_ALIGN float mean[kChannelBlock], factor[kChannelBlock], offset[kChannelBlock];
  for (int64_t b = 0; b < groups.blocks;
       ++b, input += plane, output += plane, scale += kChannelBlock, bias += kChannelBlock) {
    for (size_t i = 0; i < moments.size(); ++i) {
      const Moments& own = moments[i];
      const double times =
          static_cast<double>(scale[i]) / std::sqrt(own.squares / own.count + static_cast<double>(groups.epsilon));
      mean[i] = static_cast<float>(own.mean);
      factor[i] = static_cast<float>(times);
      offset[i] = static_cast<float>(static_cast<double>(bias[i]) - (own.mean - static_cast<double>(mean[i])) * times);
    }
    for (int v = 0; v < kChannelBlock; v += kBlockLanes) {
      const auto about = hn::Load(d, mean + v), times = hn::Load(d, factor + v), add = hn::Load(d, offset + v);
      for (int64_t i = v; i < plane; i += kChannelBlock) {
        hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, input + i), about), times, add), d, output + i);
      }
    }
  }
}

}  // namespace

void NormalizeInNchw8c(const Nchw8cGroups& groups, const float* input, const float* scale, const float* bias,
                       float* output) {
  NormalizeGroup(groups, input, scale, bias, output);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(NormalizeInNchw8c);

void NormalizeNchw8cGroup(const Nchw8cGroups& groups, const float* input, const float* scale, const float* bias,
                          float* output) {
  HWY_DYNAMIC_DISPATCH(NormalizeInNchw8c)(groups, input, scale, bias, output);
}

}  // namespace tessera::cpu
#endif
