// Groups of channels, normalized over blocks.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/blocked_groups.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <array>
#include <cmath>

#include "simd/blocked-inl.h"

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
    for (int lane = 0; lane < kBlockLanes; ++lane) totals[static_cast<size_t>(v + lane)] = static_cast<double>(lanes[lane]);
  }
  return totals;
}

/// Mean and squares about it of each channel: runs of pixels that stay in L1 while they are read twice, joined as in Chan, Golub and
/// LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
struct LaneMoments {
  void Add(const float* from, int64_t pixels) {
    constexpr int64_t kRun = 512;
    for (int64_t begin = 0; begin < pixels; begin += kRun) AddRun(from + begin * kChannelBlock, std::min(kRun, pixels - begin));
  }

  LaneTotals mean{}, squares{};
  double count = 0;

 private:
  void AddRun(const float* from, int64_t pixels) {
    HWY_ALIGN float shift[kChannelBlock] = {};
    const double more = static_cast<double>(pixels), total = count + more;
    LaneTotals own = SumLanes<false>(from, pixels, shift);
    for (size_t i = 0; i < own.size(); ++i) shift[i] = static_cast<float>(own[i] /= more);
    const LaneTotals about = SumLanes<true>(from, pixels, shift);
    for (size_t i = 0; i < own.size(); ++i) {
      // The mean as rounded is a little off: the squares about the exact one are smaller by its square.
      const double off = own[i] - static_cast<double>(shift[i]), delta = own[i] - mean[i];
      squares[i] += std::max(about[i] - off * off * more, 0.0) + delta * delta * count * more / total;
      mean[i] += delta * more / total;
    }
    count = total;
  }
};

/// The same of groups of `lanes` channels each, in all of these.
void JoinLanes(LaneMoments& moments, int64_t lanes) {
  const auto size = static_cast<size_t>(lanes);
  for (size_t first = 0; first < moments.mean.size(); first += size) {
    double mean = 0, squares = 0;
    for (size_t i = first; i < first + size; ++i) mean += moments.mean[i] / static_cast<double>(lanes);
    for (size_t i = first; i < first + size; ++i) {
      squares += moments.squares[i] + moments.count * (moments.mean[i] - mean) * (moments.mean[i] - mean);
    }
    for (size_t i = first; i < first + size; ++i) {
      moments.mean[i] = mean;
      moments.squares[i] = squares;
    }
  }
  moments.count *= static_cast<double>(lanes);
}

void NormalizeGroup(const BlockedGroups& groups, const float* input, const float* scale, const float* bias, float* output) {
  const BlockTag d;
  const int64_t plane = groups.pixels * kChannelBlock;
  LaneMoments moments;
  for (int64_t b = 0; b < groups.blocks; ++b) moments.Add(input + b * plane, groups.pixels);
  JoinLanes(moments, groups.lanes);
  HWY_ALIGN float mean[kChannelBlock], factor[kChannelBlock], offset[kChannelBlock];
  for (int64_t b = 0; b < groups.blocks; ++b, input += plane, output += plane, scale += kChannelBlock, bias += kChannelBlock) {
    for (size_t i = 0; i < moments.mean.size(); ++i) {
      const double times = static_cast<double>(scale[i]) / std::sqrt(moments.squares[i] / moments.count + static_cast<double>(groups.epsilon));
      mean[i] = static_cast<float>(moments.mean[i]);
      factor[i] = static_cast<float>(times);
      offset[i] = static_cast<float>(static_cast<double>(bias[i]) - (moments.mean[i] - static_cast<double>(mean[i])) * times);
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

void NormalizeInBlocks(const BlockedGroups& groups, const float* input, const float* scale, const float* bias, float* output) {
  NormalizeGroup(groups, input, scale, bias, output);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(NormalizeInBlocks);

void NormalizeBlockedGroup(const BlockedGroups& groups, const float* input, const float* scale, const float* bias, float* output) {
  HWY_DYNAMIC_DISPATCH(NormalizeInBlocks)(groups, input, scale, bias, output);
}

}  // namespace tessera::cpu
#endif
