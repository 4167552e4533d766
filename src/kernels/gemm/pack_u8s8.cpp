// Packs weights for the GEMM of unsigned with signed bytes: how many groups are accumulated in 16 bits, and which weights
// are outliers.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/rounding.h"
#include "kernels/gemm/choose.h"
#include "kernels/gemm/gemm_u8s8_kernels.h"
#include "kernels/gemm/tile_unit.h"

namespace tessera::cpu {
namespace {

constexpr int kMostPair = 128;       // times 255 it fits 16 bits
constexpr int kMostMagnitude = 255;  // times 128 it does

/// A pair of weights, whose two products are added in 16 bits.
struct Pair {
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
  Pair at(int64_t g, int64_t lane) const {
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
constexpr double kGroupCost[kMostDepth + 1] = {1.75, 1.25, 1.03, 0.97, 0.93};
constexpr double kExtraCost = 1.1;
constexpr double kOutlierCost = 1.7;  // an output channel in each lane
constexpr double kOutlierChannelsCost = 1.0;
constexpr double kTransposedCost = 0.35;
/// Of panels that have more groups a sparse matrix of outliers costs little beside the others.
constexpr int64_t kShallowGroups = 64;

/// Packs panels into segments of `depth` groups. What does not fit goes to `extras`, or where `sparse` and that costs less
/// one by one to `outliers`.
class BlockPacker {
 public:
  BlockPacker(int64_t depth, bool sparse) : depth_(depth), sparse_(sparse) {}

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

  /// What is aside, for a vector of accumulators; transposing not counted.
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
    Pair pairs[kMostDepth];
    int magnitude = 0;
    const auto take = [&](int64_t d) {
      magnitude -= pairs[d].magnitude();
      if (records != nullptr) records[d * block_->lanes() + lane] = 0;
      PutAside(std::exchange(pairs[d], Pair{}), s * depth_ + d, lane, begin);
    };
    for (int64_t d = 0; d < depth_; ++d) {
      pairs[d] = block_->at(s * depth_ + d, lane);
      magnitude += pairs[d].magnitude();
      if (!pairs[d].fits()) take(d);
    }
    while (depth_ > 1 && magnitude > kMostMagnitude) {
      take(std::max_element(pairs, pairs + depth_,
                            [](const Pair& a, const Pair& b) { return a.magnitude() < b.magnitude(); }) -
           pairs);
    }
    int sum = 0;
    for (int64_t d = 0; d < depth_; ++d) sum += pairs[d].a + pairs[d].b;
    return static_cast<int16_t>(sum);
  }

  void PutAside(Pair pair, int64_t group, int64_t lane, size_t begin) {
    if (!sparse_) return AddExtra(pair, group, lane, begin);
    if (pair.a == 0 && pair.b == 0) return;
    const auto at = static_cast<int32_t>(2 * group + lane % 2);
    outliers.push_back({first_channel_ + lane / 2, {at, {static_cast<int16_t>(pair.a), static_cast<int16_t>(pair.b)}}});
  }

  double SparseCost() const {
    constexpr int64_t kTogether = 4;  // output channels
    std::array<bool, kMostLanes / 2 / kTogether> has{};
    for (const ChannelOutlier& one : outliers) has[static_cast<size_t>((one.channel - first_channel_) / kTogether)] = true;
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

  void AddExtra(Pair pair, int64_t group, int64_t lane, size_t begin) {
    if (pair.a == 0 && pair.b == 0) return;  // padding, too, which the other operand need not have
    if (!pair.fits()) {                      // halves do
      const Pair half{pair.a / 2, pair.b / 2};
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

/// How weights are packed.
struct Packing {
  int64_t depth;  // 0: 16-bit operands
  bool sparse;    // outliers may be a sparse matrix
};

/// What some of the panels, packed that way, have aside on average.
class AsideCost {
 public:
  AsideCost(const WeightSource& source, int64_t width, Packing packing) : packing_(packing) {
    const auto groups = static_cast<double>(CeilDiv(source.k, 4)), panels = static_cast<double>(CeilDiv(source.n, width));
    transposing_ = kTransposedCost * groups / panels;
  }

  void Add(const BlockRecords& records) {
    BlockPacker packer(packing_.depth, packing_.sparse);
    packer.Pack(records, 0, nullptr, nullptr);
    total_ += packer.cost();
    ++count_;
    transposes_ = transposes_ || !packer.outliers.empty();
  }

  /// With what is not aside, of so many groups.
  double total(double groups) const {
    const double mean = count_ == 0 ? 0 : total_ / static_cast<double>(count_);
    return groups * kGroupCost[packing_.depth] + mean + (transposes_ ? transposing_ : 0);
  }
  Packing packing() const { return packing_; }

 private:
  Packing packing_;
  double transposing_, total_ = 0;
  int64_t count_ = 0;
  bool transposes_ = false;
};

/// What costs least, found on some of the panels. `sparse`, `may_widen`: outliers may be a sparse matrix, operands of 16
/// bits.
Packing CheapestPacking(const WeightSource& source, int64_t width, bool sparse, bool may_widen) {
  constexpr int64_t kPanels = 4;
  const int64_t blocks = CeilDiv(source.n, width), step = std::max<int64_t>(blocks / kPanels, 1);
  const auto groups = static_cast<double>(CeilDiv(source.k, 4));
  const double most = may_widen ? kGroupCost[0] * groups : INFINITY;
  std::vector<AsideCost> costs;
  for (int64_t depth = kLeastDepth; depth <= kMostDepth; ++depth) {
    if (!sparse || CeilDiv(source.k, 4) <= kShallowGroups) costs.emplace_back(source, width, Packing{depth, false});
    if (sparse) costs.emplace_back(source, width, Packing{depth, true});
  }
  BlockRecords records(width);
  for (int64_t b = 0, i = 0; b < blocks && i < kPanels; b += step, ++i) {
    records.Gather(source, b);
    for (AsideCost& cost : costs) {
      if (cost.total(groups) <= most) cost.Add(records);
    }
  }
  Packing cheapest{may_widen ? 0 : kLeastDepth, sparse};
  double least = most;
  for (const AsideCost& cost : costs) {
    if (cost.total(groups) > least) continue;
    least = cost.total(groups);
    cheapest = cost.packing();
  }
  return cheapest;
}

/// Runs `pack(panel, its records, where it goes)` for all panels, several at a time. `packed` has its width and depth, and
/// gets its values and the output channels' sums.
template <class Pack>
void PackBlocks(ThreadPool& threads, const WeightSource& source, PackedWeightsS8& packed, Pack pack) {
  const int64_t blocks = CeilDiv(source.n, packed.width);
  packed.block_bytes = packed.segments * packed.records() * 4 * packed.width;
  packed.values = Tensor(ElementType::kInt8, Shape{blocks, packed.block_bytes});
  packed.sums.assign(static_cast<size_t>(source.n), 0);
  packed.offsets.assign(static_cast<size_t>(source.n), 0);
  auto* values = packed.values.mutable_data<int8_t>();
  threads.ParallelFor(blocks, static_cast<double>(source.k * packed.width), [&](int64_t begin, int64_t end) {
    BlockRecords records(packed.width);
    for (int64_t b = begin; b < end; ++b) {
      records.Gather(source, b);
      records.Sum(packed.sums.data() + b * packed.width);
      pack(b, records, values + b * packed.block_bytes);
    }
  });
}

/// Records of weights as they are, no outliers: four bytes of each output channel, or two of 16 bits where they are wide.
void PackPlain(ThreadPool& threads, const WeightSource& source, PackedWeightsS8& packed) {
  packed.segments = packed.groups();
  packed.extra_begin.assign(static_cast<size_t>(CeilDiv(source.n, packed.width)) + 1, 0);
  packed.extras = Tensor(ElementType::kInt8, Shape{0});
  PackBlocks(threads, source, packed, [&](int64_t, const BlockRecords& records, int8_t* to) {
    if (!packed.wide()) {
      std::memcpy(to, records.group(0), static_cast<size_t>(packed.block_bytes));
      return;
    }
    const int64_t lanes = records.lanes();
    auto* wide = reinterpret_cast<int16_t*>(to);
    for (int64_t half = 0; half < packed.segments; ++half) {  // of groups
      const int16_t* from = records.group(half / 2) + half % 2;
      for (int64_t i = 0; i < lanes; i += 2, wide += 2) {
        wide[0] = BlockRecords::First(from[i]);
        wide[1] = BlockRecords::Second(from[i]);
      }
    }
  });
}

/// Up to kTileGroups groups of a panel from `group` on, each output channel's adjacent.
void PackTile(const BlockRecords& records, int64_t group, int64_t count, int8_t* to) {
  const int64_t channels = records.lanes() / 2;
  for (int64_t g = 0; g < count; ++g) {
    const auto* from = reinterpret_cast<const int8_t*>(records.group(group + g));
    for (int64_t channel = 0; channel < channels; ++channel)
      std::memcpy(to + 4 * (channel * count + g), from + 4 * channel, 4);
  }
}

/// Weights as they are, in tiles, whose sides are output channels and groups where they are broadcast. Where groups do not
/// fill the last, extras are the last kTileGroups groups, zeros where another tile has them.
void PackTiles(ThreadPool& threads, const WeightSource& source, PanelLayout side, PackedWeightsS8& packed) {
  const int64_t groups = packed.groups(), of_tile = std::min(groups, kTileGroups), panels = CeilDiv(packed.n, packed.width),
                whole = groups / of_tile * of_tile, left = whole == groups ? 0 : kTileGroups, record = 4 * packed.width;
  const bool broadcast = side == PanelLayout::kBroadcast;
  packed.segments = broadcast ? whole : groups;
  for (int64_t panel = 0; panel <= panels; ++panel) packed.extra_begin.push_back(panel * left);
  for (int64_t i = 0; i < panels * left; ++i) packed.extra_group.push_back(groups - left + i % left);
  packed.extras = Tensor(ElementType::kInt8, Shape{panels * left, record});
  auto* extras = packed.extras.mutable_data<int8_t>();
  PackBlocks(threads, source, packed, [&](int64_t panel, const BlockRecords& records, int8_t* to) {
    const auto* all = reinterpret_cast<const int8_t*>(records.group(0));
    int8_t* last = extras + panel * left * record;
    if (!broadcast) {
      std::memcpy(to, all, static_cast<size_t>(groups * record));
      if (left == 0) return;
      const int64_t zeros = (whole - (groups - left)) * record;
      std::fill_n(last, zeros, int8_t{0});
      std::memcpy(last + zeros, all + whole * record, static_cast<size_t>((groups - whole) * record));
      return;
    }
    for (int64_t g = 0; g < whole; g += of_tile) PackTile(records, g, of_tile, to + g * record);
    if (left == 0) return;
    PackTile(records, groups - left, left, last);
    for (int64_t channel = 0; channel < packed.width; ++channel)
      std::fill_n(last + channel * 4 * left, 4 * (whole - (groups - left)), int8_t{0});
  });
}

void CollectExtras(const std::vector<BlockPacker>& blocks, PackedWeightsS8& packed) {
  packed.extra_begin.push_back(0);
  for (const auto& block : blocks)
    packed.extra_begin.push_back(packed.extra_begin.back() + static_cast<int64_t>(block.extras.size()));
  packed.extras = Tensor(ElementType::kInt8, Shape{packed.extra_begin.back(), 4 * packed.width});
  auto* to = packed.extras.mutable_data<int8_t>();
  for (const auto& block : blocks) {
    for (const BlockPacker::Extra& extra : block.extras) {
      packed.extra_group.push_back(extra.group);
      to = std::copy(extra.record.begin(), extra.record.end(), to);
    }
  }
}

/// Sorts them by output channel, each one's by the pairs.
void CollectOutliers(std::vector<BlockPacker>& blocks, PackedWeightsS8& packed) {
  if (std::all_of(blocks.begin(), blocks.end(), [](const auto& block) { return block.outliers.empty(); })) return;
  packed.outlier_begin.assign(static_cast<size_t>(packed.n) + 1, 0);
  for (BlockPacker& packer : blocks) {
    std::vector<ChannelOutlier>& block = packer.outliers;
    std::stable_sort(block.begin(), block.end(),
                     [](const ChannelOutlier& a, const ChannelOutlier& b) { return a.channel < b.channel; });
    for (const ChannelOutlier& one : block) {
      packed.outliers.push_back(one.outlier);
      packed.outlier_begin[static_cast<size_t>(one.channel) + 1] = static_cast<int64_t>(packed.outliers.size());
    }
  }
  // Output channels without any end where the one before does.
  for (size_t i = 1; i < packed.outlier_begin.size(); ++i) {
    packed.outlier_begin[i] = std::max(packed.outlier_begin[i], packed.outlier_begin[i - 1]);
  }
}

}  // namespace

std::shared_ptr<const PackedWeightsS8> PackWeightsS8(ThreadPool& threads, const WeightSource& source, PanelLayout side) {
  if (!KernelsU8S8().available || source.n <= 0 || source.k <= 0) return nullptr;
  constexpr int64_t kUsualPixels = 64;
  const bool dots = KernelsU8S8().packing == U8S8Packing::kTiles && side == PanelLayout::kBroadcast &&
                    ChooseU8S8Path(source.n, CeilDiv(source.k, 4), kUsualPixels) == U8S8Path::kDots;
  return PackWeightsS8For(dots ? DotKernelsU8S8(false) : KernelsU8S8(), threads, source, side);
}

std::shared_ptr<const PackedWeightsS8> PackWeightsS8For(const U8S8Kernels& kernels, ThreadPool& threads,
                                                        const WeightSource& source, PanelLayout side) {
  auto packed = std::make_shared<PackedWeightsS8>();
  packed->n = source.n;
  packed->k = source.k;
  packed->width = side == PanelLayout::kBroadcast ? kernels.rows : kernels.width;
  if (kernels.packing != U8S8Packing::kPairs) {
    packed->depth = 1;
    packed->tiles = kernels.packing == U8S8Packing::kTiles;
    packed->tiles ? PackTiles(threads, source, side, *packed) : PackPlain(threads, source, *packed);
    return packed;
  }
  // Outliers need the other operand transposed, which panels of pixels are not.
  const bool sparse = side == PanelLayout::kVectors;
  const Packing packing = CheapestPacking(source, packed->width, sparse, side != PanelLayout::kPaddedRows);
  packed->depth = packing.depth;
  if (packed->wide()) {
    packed->width = side == PanelLayout::kVectors ? kernels.width : kernels.wide_rows;
    PackPlain(threads, source, *packed);
    return packed;
  }
  packed->segments = packed->groups() / packed->depth;
  std::vector<BlockPacker> blocks(static_cast<size_t>(CeilDiv(source.n, packed->width)),
                                  BlockPacker(packing.depth, packing.sparse));
  PackBlocks(threads, source, *packed, [&](int64_t b, const BlockRecords& records, int8_t* to) {
    const int64_t first = b * packed->width;
    blocks[static_cast<size_t>(b)].Pack(records, first, to, packed->offsets.data() + first);
  });
  CollectExtras(blocks, *packed);
  CollectOutliers(blocks, *packed);
  return packed;
}

}  // namespace tessera::cpu
