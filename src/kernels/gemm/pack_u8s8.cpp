// Packs weights for the GEMM of unsigned with signed bytes: how many groups are accumulated in 16 bits, and which weights
// are outliers.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/rounding.h"
#include "kernels/gemm/block_packer.h"
#include "kernels/gemm/choose.h"
#include "kernels/gemm/gemm_u8s8_kernels.h"
#include "kernels/gemm/tile_unit.h"

namespace tessera::cpu {
namespace {

/// How weights are packed.
struct Packing {
  int64_t depth;  // 0: 16-bit operands
  bool sparse;    // outliers may be a sparse matrix
};

/// What keeping outliers out of the panels costs a panel packed that way: the mean of some.
class OutlierCost {
 public:
  OutlierCost(const WeightSource& source, int64_t width, Packing packing) : packing_(packing) {
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

  /// With what stays in the panel, of so many groups.
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
  std::vector<OutlierCost> costs;
  for (int64_t depth = kLeastDepth; depth <= kMostDepth; ++depth) {
    if (!sparse || CeilDiv(source.k, 4) <= kShallowGroups) costs.emplace_back(source, width, Packing{depth, false});
    if (sparse) costs.emplace_back(source, width, Packing{depth, true});
  }
  BlockRecords records(width);
  for (int64_t b = 0, i = 0; b < blocks && i < kPanels; b += step, ++i) {
    records.Gather(source, b);
    for (OutlierCost& cost : costs) {
      if (cost.total(groups) <= most) cost.Add(records);
    }
  }
  Packing cheapest{may_widen ? 0 : kLeastDepth, sparse};
  double least = most;
  for (const OutlierCost& cost : costs) {
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
    if (packed->tiles) {
      PackTiles(threads, source, side, *packed);
    } else {
      PackPlain(threads, source, *packed);
    }
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
