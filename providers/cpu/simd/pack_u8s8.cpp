// Weights for products of unsigned with signed bytes: how many groups may sum in 16 bits, and which weights must stand aside.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/rounding.h"
#include "simd/gemm_u8s8_kernels.h"
#include "simd/rows_u8s8.h"

namespace tessera::cpu {
namespace {

constexpr int kMostPair = 128;       // times 255 it fits 16 bits
constexpr int kMostMagnitude = 255;  // times 128 it does

/// Products that a sum of 16 bits takes two of.
struct Pair {
  int a = 0, b = 0;
  int magnitude() const { return std::abs(a) + std::abs(b); }
  /// A multiply-add of these does not saturate; of different signs they never do.
  bool fits() const { return std::abs(a + b) <= kMostPair; }
};

struct LineCorrection {
  int64_t line;
  PairCorrection correction;
};

/// Packs one block of lines. What has no place in the segments goes to `extras`, or one by one to `corrections` where these are
/// given.
class BlockPacker {
 public:
  BlockPacker(const LineSource& source, int64_t width, int64_t depth, std::vector<LineCorrection>* corrections)
      : source_(source), width_(width), depth_(depth), corrections_(corrections) {}

  struct Extra {
    int64_t group;
    std::vector<int8_t> record;
  };

  /// `out` null: only finds the extras.
  void Pack(int64_t block, int64_t segments, int8_t* out, int32_t* offsets, std::vector<Extra>& extras) {
    const int64_t first = block * width_;
    const int64_t lines = std::min(width_, source_.lines - first);
    const int64_t groups = (source_.k + 3) / 4;
    first_ = first;
    Gather(first, lines, 4 * groups);
    switch (depth_) {
      case 1: PackSegments<1>(first, lines, segments, out, offsets, extras); break;
      case 2: PackSegments<2>(first, lines, segments, out, offsets, extras); break;
      case 3: PackSegments<3>(first, lines, segments, out, offsets, extras); break;
      default: PackSegments<4>(first, lines, segments, out, offsets, extras); break;
    }
    for (int64_t g = segments * depth_; g < groups; ++g) {
      const size_t begin = extras.size();
      for (int64_t i = 0; i < lines; ++i) {
        for (int lane = 0; lane < 2; ++lane) PutAside(Read(i, g, lane), g, i, lane, extras, begin);
      }
    }
  }

 private:
  /// The block's weights, line after line, each padded with zeros.
  void Gather(int64_t first, int64_t lines, int64_t padded) {
    padded_ = padded;
    dense_.assign(static_cast<size_t>(lines * padded), 0);
    const int shift = source_.is_signed ? 0 : 128;
    const uint8_t* from = source_.values + first * source_.line_stride;
    if (source_.k_stride == 1) {
      for (int64_t i = 0; i < lines; ++i) {
        for (int64_t j = 0; j < source_.k; ++j) dense_[static_cast<size_t>(i * padded + j)] = static_cast<int8_t>(from[i * source_.line_stride + j] - shift);
      }
    } else {
      for (int64_t j = 0; j < source_.k; ++j) {
        const uint8_t* row = from + j * source_.k_stride;
        int8_t* to = dense_.data() + j;
        for (int64_t i = 0; i < lines; ++i) to[i * padded] = static_cast<int8_t>(row[i * source_.line_stride] - shift);
      }
    }
  }

  /// Of line `i` of the block.
  Pair Read(int64_t i, int64_t group, int lane) const {
    const int8_t* from = dense_.data() + i * padded_ + 4 * group + 2 * lane;
    return {from[0], from[1]};
  }

  /// Records of offsets in a segment.
  template <int kDepth>
  static constexpr int kOffsets = kDepth > 1 ? 1 : 0;

  template <int kDepth>
  void PackSegments(int64_t first, int64_t lines, int64_t segments, int8_t* out, int32_t* offsets, std::vector<Extra>& extras) {
    for (int64_t s = 0; s < segments; ++s) {
      const size_t begin = extras.size();
      int8_t* segment = out == nullptr ? nullptr : out + s * (kDepth + kOffsets<kDepth>) * 4 * width_;
      for (int64_t i = 0; i < lines; ++i) {
        for (int lane = 0; lane < 2; ++lane) {
          if (!PackPlain<kDepth>(first, i, lane, s, segment, offsets)) PackLane(first, i, lane, s, segment, offsets, extras, begin);
        }
      }
    }
  }

  /// False, and nothing done, where some weights have to be put aside.
  template <int kDepth>
  bool PackPlain(int64_t first, int64_t i, int lane, int64_t s, int8_t* segment, int32_t* offsets) const {
    const int8_t* from = dense_.data() + i * padded_ + s * kDepth * 4 + 2 * lane;
    int sum = 0, magnitude = 0;
    bool fits = true;
#pragma GCC unroll 4
    for (int d = 0; d < kDepth; ++d) {
      const Pair pair{from[4 * d], from[4 * d + 1]};
      sum += pair.a + pair.b;
      magnitude += pair.magnitude();
      fits &= pair.fits();
    }
    if (!fits || (kDepth > 1 && magnitude > kMostMagnitude)) return false;
    if (segment == nullptr) return true;
    int8_t* to = segment + 4 * i + 2 * lane;
#pragma GCC unroll 4
    for (int d = 0; d < kDepth; ++d) std::memcpy(to + (d + kOffsets<kDepth>) * 4 * width_, from + 4 * d, 2);
    if constexpr (kDepth > 1) {
      const auto offset = static_cast<int16_t>(-128 * sum);
      std::memcpy(to, &offset, sizeof(offset));
      offsets[first + i] += 128 * sum;
    }
    return true;
  }

  void PackLane(int64_t first, int64_t i, int lane, int64_t s, int8_t* segment, int32_t* offsets, std::vector<Extra>& extras, size_t begin) {
    Pair pairs[kMostDepth];
    int magnitude = 0;
    for (int64_t d = 0; d < depth_; ++d) {
      pairs[d] = Read(i, s * depth_ + d, lane);
      if (!pairs[d].fits()) PutAside(std::exchange(pairs[d], Pair{}), s * depth_ + d, i, lane, extras, begin);
      magnitude += pairs[d].magnitude();
    }
    while (depth_ > 1 && magnitude > kMostMagnitude) {
      Pair* largest = std::max_element(pairs, pairs + depth_, [](const Pair& a, const Pair& b) { return a.magnitude() < b.magnitude(); });
      magnitude -= largest->magnitude();
      PutAside(std::exchange(*largest, Pair{}), s * depth_ + (largest - pairs), i, lane, extras, begin);
    }
    if (segment == nullptr || depth_ == 1) return;  // of depth 1 nothing is left
    int sum = 0;
    for (int64_t d = 0; d < depth_; ++d) {
      int8_t* to = segment + (d + 1) * 4 * width_ + 4 * i + 2 * lane;
      to[0] = static_cast<int8_t>(pairs[d].a);
      to[1] = static_cast<int8_t>(pairs[d].b);
      sum += pairs[d].a + pairs[d].b;
    }
    const auto offset = static_cast<int16_t>(-128 * sum);
    std::memcpy(segment + 4 * i + 2 * lane, &offset, sizeof(offset));
    offsets[first + i] += 128 * sum;
  }

  void PutAside(Pair pair, int64_t group, int64_t i, int lane, std::vector<Extra>& extras, size_t begin) const {
    if (pair.a == 0 && pair.b == 0) return;  // padding, too, which the other operand need not have
    if (corrections_ != nullptr) {
      const auto at = static_cast<int32_t>(2 * group + lane);
      corrections_->push_back({first_ + i, {at, {static_cast<int16_t>(pair.a), static_cast<int16_t>(pair.b)}}});
      return;
    }
    if (!pair.fits()) {  // halves do
      const Pair half{pair.a / 2, pair.b / 2};
      PutAside(half, group, i, lane, extras, begin);
      pair = {pair.a - half.a, pair.b - half.b};
    }
    const size_t place = static_cast<size_t>(4 * i + 2 * lane);
    for (size_t e = begin; e < extras.size(); ++e) {
      int8_t* to = extras[e].record.data() + place;
      if (extras[e].group != group || to[0] != 0 || to[1] != 0) continue;
      to[0] = static_cast<int8_t>(pair.a);
      to[1] = static_cast<int8_t>(pair.b);
      return;
    }
    extras.push_back({group, std::vector<int8_t>(static_cast<size_t>(4 * width_))});
    extras.back().record[place] = static_cast<int8_t>(pair.a);
    extras.back().record[place + 1] = static_cast<int8_t>(pair.b);
  }

  const LineSource& source_;
  int64_t width_;
  int64_t depth_;
  std::vector<LineCorrection>* corrections_;
  int64_t first_ = 0;
  int64_t padded_ = 0;
  std::vector<int8_t> dense_;
};

// Time of a group for a vector of sums, by depth (0: of products of 16 bits); of a group that stands aside; and of a pair that
// does so alone. Measured on Zen 3 whose other hardware thread was busy too.
constexpr double kGroupCost[kMostDepth + 1] = {1.75, 1.25, 1.03, 0.97, 0.93};
constexpr double kExtraCost = 1.1;
constexpr double kCorrectionCost = 1.7;  // a line in each lane

/// Found on some of the blocks.
double CostOf(const LineSource& source, int64_t width, int64_t depth, bool sparse) {
  const int64_t blocks = CeilDiv(source.lines, width);
  const int64_t groups = (source.k + 3) / 4;
  const int64_t step = std::max<int64_t>(blocks / 4, 1);
  const double products = static_cast<double>(groups) * kGroupCost[depth];
  int64_t looked_at = 0;
  std::vector<BlockPacker::Extra> extras;
  std::vector<LineCorrection> corrections;
  for (int64_t b = 0; b < blocks && looked_at < 4; b += step, ++looked_at) {
    BlockPacker(source, width, depth, sparse ? &corrections : nullptr).Pack(b, groups / depth, nullptr, nullptr, extras);
    if (products + kExtraCost * static_cast<double>(extras.size()) / 4 > kGroupCost[0] * static_cast<double>(groups)) return INFINITY;
  }
  const double aside = kExtraCost * static_cast<double>(extras.size()) +
                       kCorrectionCost * static_cast<double>(corrections.size()) / static_cast<double>(width);
  return products + aside / static_cast<double>(looked_at);
}

void AddCodes(const uint8_t* codes, int64_t count, bool is_signed, int32_t* sums) {
  if (is_signed) {
    for (int64_t i = 0; i < count; ++i) sums[i] += static_cast<int8_t>(codes[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) sums[i] += codes[i] - 128;
  }
}

/// The lines' sums; offsets become 0.
void SumLines(ThreadPool& threads, const LineSource& source, PackedLines& packed) {
  packed.sums.assign(static_cast<size_t>(source.lines), 0);
  packed.offsets.assign(static_cast<size_t>(source.lines), 0);
  constexpr int64_t kTogether = 64;
  threads.ParallelFor(CeilDiv(source.lines, kTogether), static_cast<double>(source.k * kTogether), [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * kTogether; first < std::min(source.lines, end * kTogether); first += kTogether) {
      const int64_t count = std::min(kTogether, source.lines - first);
      int32_t sums[kTogether] = {};
      if (source.line_stride == 1) {
        for (int64_t j = 0; j < source.k; ++j) AddCodes(source.values + first + j * source.k_stride, count, source.is_signed, sums);
      } else {
        for (int64_t i = 0; i < count; ++i) {
          for (int64_t j = 0; j < source.k; ++j) sums[i] += source.weight(first + i, j);
        }
      }
      std::copy_n(sums, count, packed.sums.begin() + first);
    }
  });
}

/// Records of lines as they are: weights of T, of which four bytes' worth of each line.
template <class T>
void PackPlain(ThreadPool& threads, const LineSource& source, PackedLines& packed) {
  constexpr int64_t kTogether = 4 / sizeof(T);
  const int64_t blocks = CeilDiv(source.lines, packed.width);
  packed.segments = packed.groups();
  packed.block_bytes = packed.segments * 4 * packed.width;
  packed.extra_begin.assign(static_cast<size_t>(blocks) + 1, 0);
  packed.extras = Tensor(ElementType::kInt8, Shape{0});
  packed.values = Tensor(ElementType::kInt8, Shape{blocks, packed.block_bytes});
  auto* values = packed.values.mutable_data<int8_t>();
  threads.ParallelFor(blocks, static_cast<double>(source.k * packed.width), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      auto* to = reinterpret_cast<T*>(values + b * packed.block_bytes);
      const int64_t lines = std::min(packed.width, source.lines - b * packed.width);
      std::memset(to, 0, static_cast<size_t>(packed.block_bytes));
      for (int64_t j = 0; j < source.k; ++j) {
        T* record = to + j / kTogether * kTogether * packed.width + j % kTogether;
        for (int64_t i = 0; i < lines; ++i) record[kTogether * i] = static_cast<T>(source.weight(b * packed.width + i, j));
      }
    }
  });
}

void CollectExtras(const std::vector<std::vector<BlockPacker::Extra>>& extras, PackedLines& packed) {
  packed.extra_begin.push_back(0);
  for (const auto& block : extras) packed.extra_begin.push_back(packed.extra_begin.back() + static_cast<int64_t>(block.size()));
  packed.extras = Tensor(ElementType::kInt8, Shape{packed.extra_begin.back(), 4 * packed.width});
  auto* to = packed.extras.mutable_data<int8_t>();
  for (const auto& block : extras) {
    for (const BlockPacker::Extra& extra : block) {
      packed.extra_group.push_back(extra.group);
      to = std::copy(extra.record.begin(), extra.record.end(), to);
    }
  }
}

/// Sorts them by lines, each line's by the pairs.
void CollectCorrections(std::vector<std::vector<LineCorrection>>& corrections, PackedLines& packed) {
  if (std::all_of(corrections.begin(), corrections.end(), [](const auto& block) { return block.empty(); })) return;
  packed.correction_begin.assign(static_cast<size_t>(packed.lines) + 1, 0);
  for (auto& block : corrections) {
    std::stable_sort(block.begin(), block.end(), [](const LineCorrection& a, const LineCorrection& b) { return a.line < b.line; });
    for (const LineCorrection& one : block) {
      packed.corrections.push_back(one.correction);
      packed.correction_begin[static_cast<size_t>(one.line) + 1] = static_cast<int64_t>(packed.corrections.size());
    }
  }
  // Lines without any end where the one before does.
  for (size_t i = 1; i < packed.correction_begin.size(); ++i) {
    packed.correction_begin[i] = std::max(packed.correction_begin[i], packed.correction_begin[i - 1]);
  }
}

}  // namespace

std::shared_ptr<const PackedLines> PackLines(ThreadPool& threads, const LineSource& source, LineSide side) {
  if (!KernelsU8S8().available || source.lines <= 0 || source.k <= 0) return nullptr;
  return PackLinesFor(KernelsU8S8(), threads, source, side);
}

std::shared_ptr<const PackedLines> PackLinesFor(const U8S8Kernels& kernels, ThreadPool& threads, const LineSource& source, LineSide side) {
  auto packed = std::make_shared<PackedLines>();
  packed->lines = source.lines;
  packed->k = source.k;
  packed->width = side == LineSide::kVectors ? kernels.width : side == LineSide::kBroadcast ? kernels.rows : CodeRowsWidth();
  if (kernels.exact) {
    packed->depth = 1;
    SumLines(threads, source, *packed);
    PackPlain<int8_t>(threads, source, *packed);
    return packed;
  }
  // Corrections meet the other operand turned, which panels of pixels are not.
  const bool sparse = side == LineSide::kVectors;
  double least = kGroupCost[0] * static_cast<double>((source.k + 3) / 4);
  if (side == LineSide::kCodeRows) {
    packed->depth = kLeastDepth;
    least = INFINITY;
  }
  for (int64_t depth = kLeastDepth; depth <= kMostDepth; ++depth) {
    const double cost = CostOf(source, packed->width, depth, sparse);
    if (cost > least) continue;
    least = cost;
    packed->depth = depth;
  }
  SumLines(threads, source, *packed);
  if (packed->wide()) {
    packed->width = side == LineSide::kVectors ? kernels.width : kernels.wide_rows;
    PackPlain<int16_t>(threads, source, *packed);
    return packed;
  }
  packed->segments = packed->groups() / packed->depth;
  packed->block_bytes = packed->segments * packed->records() * 4 * packed->width;
  const int64_t blocks = CeilDiv(source.lines, packed->width);
  packed->values = Tensor(ElementType::kInt8, Shape{blocks, packed->block_bytes});
  std::fill_n(packed->values.mutable_data<int8_t>(), blocks * packed->block_bytes, int8_t{0});
  std::vector<std::vector<BlockPacker::Extra>> extras(static_cast<size_t>(blocks));
  std::vector<std::vector<LineCorrection>> corrections(static_cast<size_t>(blocks));
  auto* values = packed->values.mutable_data<int8_t>();
  threads.ParallelFor(blocks, static_cast<double>(source.k * packed->width) * 3, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      BlockPacker packer(source, packed->width, packed->depth, sparse ? &corrections[static_cast<size_t>(b)] : nullptr);
      packer.Pack(b, packed->segments, values + b * packed->block_bytes, packed->offsets.data(), extras[static_cast<size_t>(b)]);
    }
  });
  CollectExtras(extras, *packed);
  CollectCorrections(corrections, *packed);
  return packed;
}

}  // namespace tessera::cpu
