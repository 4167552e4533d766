#pragma once

// A panel of weights for multiply-adds of pairs of bytes: as records, and packed into segments that do not saturate, with
// what is kept out of the panel for that, and what it costs.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/rounding.h"
#include "kernels/gemm/gemm_u8s8_kernels.h"
#include "kernels/gemm/outliers.h"

namespace tessera::cpu {

inline constexpr int kMostPair = 128;       // times 255 it fits 16 bits
inline constexpr int kMostMagnitude = 255;  // times 128 it does

/// A pair of weights, whose two products are added in 16 bits.
struct WeightPair {
  int a = 0, b = 0;
  int magnitude() const { return std::abs(a) + std::abs(b); }
  /// A multiply-add of these does not saturate; of different signs they never do.
  bool fits() const { return std::abs(a + b) <= kMostPair; }
};

struct ChannelOutlier {
  int64_t channel;
  Outlier outlier;
};

/// A panel's weights as records: four of each of `width` output channels, group after group, padded with zeros.
class BlockRecords {
 public:
  explicit BlockRecords(int64_t width) : width_(width) {}

  void Gather(const WeightSource& source, int64_t block) {
    const int64_t first = block * width_;
    channels_ = std::min(width_, source.n - first);
    groups_ = CeilDiv(source.k, 4);
    pairs_.resize(static_cast<size_t>(groups_ * lanes()));
    if (channels_ < width_ || source.k % 4 != 0) std::fill(pairs_.begin(), pairs_.end(), int16_t{0});
    const uint8_t* from = source.values + first * source.n_stride;
    const auto flip = static_cast<uint8_t>(source.is_signed ? 0 : 128);  // less 128, that is
    auto* to = reinterpret_cast<uint8_t*>(pairs_.data());
    if (source.n_stride == 1) {
      InterleaveRows(from, source.k, source.k_stride, flip, to);
    } else {
      ScatterChannels(from, source, flip, to);
    }
  }

  int64_t n() const { return channels_; }
  int64_t groups() const { return groups_; }
  /// Pairs of a group.
  int64_t lanes() const { return 2 * width_; }

  /// Both weights of each lane.
  const int16_t* group(int64_t g) const { return pairs_.data() + g * lanes(); }
  WeightPair at(int64_t g, int64_t lane) const {
    const int16_t both = group(g)[lane];
    return {First(both), Second(both)};
  }

  static int16_t First(int16_t both) { return static_cast<int8_t>(both & 0xff); }
  static int16_t Second(int16_t both) { return static_cast<int16_t>(both >> 8); }

  /// By output channel.
  void Sum(int32_t* sums) const {
    std::fill_n(sums, channels_, 0);
    for (int64_t g = 0; g < groups_; ++g) {
      const int16_t* from = group(g);
      for (int64_t i = 0; i < channels_; ++i, from += 2)
        sums[i] += First(from[0]) + Second(from[0]) + First(from[1]) + Second(from[1]);
    }
  }

 private:
  void InterleaveRows(const uint8_t* from, int64_t k, int64_t stride, uint8_t flip, uint8_t* to) const {
    for (int64_t j = 0; j + 4 <= k; j += 4, from += 4 * stride, to += 4 * width_) {
      const uint8_t *row0 = from, *row1 = from + stride, *row2 = row1 + stride, *row3 = row2 + stride;
      uint8_t* __restrict record = to;
      for (int64_t i = 0; i < channels_; ++i) {
        record[4 * i] = row0[i] ^ flip;
        record[4 * i + 1] = row1[i] ^ flip;
        record[4 * i + 2] = row2[i] ^ flip;
        record[4 * i + 3] = row3[i] ^ flip;
      }
    }
    for (int64_t q = 0; q < k % 4; ++q) {
      for (int64_t i = 0; i < channels_; ++i) to[4 * i + q] = from[q * stride + i] ^ flip;
    }
  }

  void ScatterChannels(const uint8_t* from, const WeightSource& source, uint8_t flip, uint8_t* to) const {
    constexpr int64_t kTogether = 64;  // of an output channel, as long as its cache line is at hand
    for (int64_t j0 = 0; j0 < source.k; j0 += kTogether) {
      const int64_t j1 = std::min(source.k, j0 + kTogether);
      for (int64_t i = 0; i < channels_; ++i) {
        const uint8_t* channel = from + i * source.n_stride;
        uint8_t* records = to + 4 * i;
        int64_t j = j0;
        for (; source.k_stride == 1 && j + 4 <= j1; j += 4) {
          uint32_t four;
          std::memcpy(&four, channel + j, sizeof(four));
          four ^= flip * 0x01010101u;
          std::memcpy(records + j * width_, &four, sizeof(four));
        }
        for (; j < j1; ++j) records[j / 4 * 4 * width_ + j % 4] = channel[j * source.k_stride] ^ flip;
      }
    }
  }

  int64_t width_;
  int64_t channels_ = 0;
  int64_t groups_ = 0;
  std::vector<int16_t> pairs_;
};

// Time of a group for a vector of accumulators, by depth (0: of 16-bit operands); of a group of outliers; of a pair of
// outliers alone, of four output channels that have such, and of transposing a group of a row for them. Measured on Zen 3
// whose other hardware thread was busy too.
inline constexpr double kGroupCost[kMostDepth + 1] = {1.75, 1.25, 1.03, 0.97, 0.93};
inline constexpr double kExtraCost = 1.1;
inline constexpr double kOutlierCost = 1.7;  // an output channel in each lane
inline constexpr double kOutlierChannelsCost = 1.0;
inline constexpr double kTransposedCost = 0.35;
/// Of panels that have more groups a sparse matrix of outliers costs little beside the others.
inline constexpr int64_t kShallowGroups = 64;

/// Packs panels into segments of `depth` groups. What does not fit goes to `extras`, or where `sparse` and that costs less
/// one by one to `outliers`.
class BlockPacker {
 public:
  BlockPacker(int64_t depth, bool sparse) : depth_(depth), sparse_(sparse) {}

  /// A record added to the accumulators by itself, because its segment would saturate or its group does not fill one.
  struct Extra {
    int64_t group;
    std::vector<int8_t> record;
  };
  std::vector<Extra> extras;
  std::vector<ChannelOutlier> outliers;

  /// `out` null: only finds outliers. `offsets` are those of the panel.
  void Pack(const BlockRecords& block, int64_t first_channel, int8_t* out, int32_t* offsets) {
    block_ = &block;
    first_channel_ = first_channel;
    const int64_t segments = block.groups() / depth_;
    switch (depth_) {
      case 1: PackSegments<1>(segments, out, offsets); break;
      case 2: PackSegments<2>(segments, out, offsets); break;
      case 3: PackSegments<3>(segments, out, offsets); break;
      default: PackSegments<4>(segments, out, offsets); break;
    }
    if (!outliers.empty()) TryExtras();
    for (int64_t g = segments * depth_; g < block.groups(); ++g) {
      const size_t begin = extras.size();
      for (int64_t lane = 0; lane < 2 * block.n(); ++lane) AddExtra(block.at(g, lane), g, lane, begin);
    }
  }

  /// Of what is kept out of the panel, for a vector of accumulators; transposing not counted.
  double cost() const { return kExtraCost * static_cast<double>(extras.size()) + SparseCost(); }

 private:
  static constexpr int64_t kMostLanes = 128;

  /// By lane, of a segment.
  struct Segment {
    int16_t sum[kMostLanes];
    int16_t beyond[kMostLanes];  // not 0 where some weights have to be outliers
  };

  template <int kDepth>
  void PackSegments(int64_t segments, int8_t* out, int32_t* offsets) {
    const int64_t lanes = block_->lanes();
    Require(lanes <= kMostLanes, "a panel has more lanes than packing has space for");
    constexpr int kOffsets = kDepth > 1 ? 1 : 0;  // records of offsets in a segment
    int32_t totals[kMostLanes] = {};
    Segment segment;
    for (int64_t s = 0; s < segments; ++s) {
      const int16_t* from = block_->group(s * kDepth);
      // Of an aligned tensor; null where only offsets are asked for.
      int16_t* const to = out == nullptr ? nullptr : reinterpret_cast<int16_t*>(out) + s * (kDepth + kOffsets) * lanes;
      const bool fits = Look<kDepth>(from, lanes, segment);
      if (out != nullptr) std::copy_n(from, kDepth * lanes, to + kOffsets * lanes);
      if (!fits) {
        const size_t begin = extras.size();
        for (int64_t lane = 0; lane < lanes; ++lane) {
          if (segment.beyond[lane] != 0)
            segment.sum[lane] = Thin(s, lane, out == nullptr ? nullptr : to + kOffsets * lanes, begin);
        }
      }
      if (kOffsets == 0 || out == nullptr) continue;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        to[lane] = static_cast<int16_t>(-128 * segment.sum[lane]);
        totals[lane] += segment.sum[lane];
      }
    }
    if (kOffsets == 0 || out == nullptr) return;
    for (int64_t i = 0; i < block_->n(); ++i) offsets[i] = 128 * (totals[2 * i] + totals[2 * i + 1]);
  }

  /// Whether no weight of a segment has to be an outlier.
  template <int kDepth>
  static bool Look(const int16_t* from, int64_t lanes, Segment& segment) {
    int16_t any = 0;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int16_t sum = 0, magnitude = 0, most = 0;
#pragma GCC unroll 4
      for (int d = 0; d < kDepth; ++d) {
        const int16_t a = BlockRecords::First(from[d * lanes + lane]), b = BlockRecords::Second(from[d * lanes + lane]);
        const auto pair = static_cast<int16_t>(a + b);
        sum = static_cast<int16_t>(sum + pair);
        magnitude = static_cast<int16_t>(magnitude + std::abs(a) + std::abs(b));
        most = std::max(most, static_cast<int16_t>(std::abs(pair)));
      }
      const auto beyond = static_cast<int16_t>((most > kMostPair) | (kDepth > 1 && magnitude > kMostMagnitude));
      segment.sum[lane] = sum;
      segment.beyond[lane] = beyond;
      any = static_cast<int16_t>(any | beyond);
    }
    return any == 0;
  }

  /// Makes weights of a lane outliers until the others fit, clears them in `records`, and gives the others' sum.
  int16_t Thin(int64_t s, int64_t lane, int16_t* records, size_t begin) {
    WeightPair pairs[kMostDepth];
    int magnitude = 0;
    const auto take = [&](int64_t d) {
      magnitude -= pairs[d].magnitude();
      if (records != nullptr) records[d * block_->lanes() + lane] = 0;
      KeepOut(std::exchange(pairs[d], WeightPair{}), s * depth_ + d, lane, begin);
    };
    for (int64_t d = 0; d < depth_; ++d) {
      pairs[d] = block_->at(s * depth_ + d, lane);
      magnitude += pairs[d].magnitude();
      if (!pairs[d].fits()) take(d);
    }
    while (depth_ > 1 && magnitude > kMostMagnitude) {
      take(std::max_element(pairs, pairs + depth_,
                            [](const WeightPair& a, const WeightPair& b) { return a.magnitude() < b.magnitude(); }) -
           pairs);
    }
    int sum = 0;
    for (int64_t d = 0; d < depth_; ++d) sum += pairs[d].a + pairs[d].b;
    return static_cast<int16_t>(sum);
  }

  void KeepOut(WeightPair pair, int64_t group, int64_t lane, size_t begin) {
    if (!sparse_) return AddExtra(pair, group, lane, begin);
    if (pair.a == 0 && pair.b == 0) return;
    const auto at = static_cast<int32_t>(2 * group + lane % 2);
    outliers.push_back({first_channel_ + lane / 2, {at, {static_cast<int16_t>(pair.a), static_cast<int16_t>(pair.b)}}});
  }

  double SparseCost() const {
    std::array<bool, kMostLanes / 2 / kOutlierChannels> has{};
    for (const ChannelOutlier& one : outliers)
      has[static_cast<size_t>((one.channel - first_channel_) / kOutlierChannels)] = true;
    return kOutlierCost * 2 * static_cast<double>(outliers.size()) / static_cast<double>(block_->lanes()) +
           kOutlierChannelsCost * static_cast<double>(std::ranges::count(has, true));
  }

  /// Makes extras of the outliers where these cost less, as in shallow panels they may.
  void TryExtras() {
    if (block_->groups() > kShallowGroups) return;
    const size_t before = extras.size();
    const double most = SparseCost() / kExtraCost;
    for (const ChannelOutlier& one : outliers) {
      const auto [pair, weights] = one.outlier;
      AddExtra({weights[0], weights[1]}, pair / 2, 2 * (one.channel - first_channel_) + pair % 2, before);
      if (static_cast<double>(extras.size() - before) >= most) return extras.resize(before);
    }
    outliers.clear();
  }

  void AddExtra(WeightPair pair, int64_t group, int64_t lane, size_t begin) {
    if (pair.a == 0 && pair.b == 0) return;  // padding, too, which the other operand need not have
    if (!pair.fits()) {                      // halves do
      const WeightPair half{pair.a / 2, pair.b / 2};
      AddExtra(half, group, lane, begin);
      pair = {pair.a - half.a, pair.b - half.b};
    }
    for (size_t e = begin; e < extras.size(); ++e) {
      int8_t* to = extras[e].record.data() + 2 * lane;
      if (extras[e].group != group || to[0] != 0 || to[1] != 0) continue;
      to[0] = static_cast<int8_t>(pair.a);
      to[1] = static_cast<int8_t>(pair.b);
      return;
    }
    extras.push_back({group, std::vector<int8_t>(static_cast<size_t>(2 * block_->lanes()))});
    extras.back().record[static_cast<size_t>(2 * lane)] = static_cast<int8_t>(pair.a);
    extras.back().record[static_cast<size_t>(2 * lane + 1)] = static_cast<int8_t>(pair.b);
  }

  int64_t depth_;
  bool sparse_;
  const BlockRecords* block_ = nullptr;
  int64_t first_channel_ = 0;
};

}  // namespace tessera::cpu
