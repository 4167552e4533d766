// Loops of the GEMM of unsigned bytes with packed signed bytes, and their simplest tile, whatever multiplies. Included once
// per target after hwy/highway.h.
//
// A `Product` accumulates in 32 bits: Add(sum, unsigned bytes, signed bytes), four products a lane. `Tiles` knows the rows
// of a tile of packed weights, how much of an operand is to stay in a cache while the other streams, and the functions
// of tiles; steps in k of so many segments, and what must live while tiles are computed.

#if defined(TESSERA_GEMM_U8S8_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GEMM_U8S8_INL_H
#undef TESSERA_GEMM_U8S8_INL_H
#else
#define TESSERA_GEMM_U8S8_INL_H
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/cancellation.h"
#include "base/rounding.h"
#include "kernels/gemm/gemm_u8s8_kernels.h"
#include "kernels/gemm/outliers.h"
#include "kernels/gemm/u8s8_store-inl.h"
#include "kernels/vector/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

using D16 = hn::ScalableTag<int16_t>;
using D8 = hn::ScalableTag<uint8_t>;
using V16 = hn::Vec<D16>;
using V8 = hn::Vec<D8>;

constexpr int64_t kRecord = 4 * kWidth;  // bytes of a group of a panel
/// Bytes of weights that are asked for before they are needed: few rows read them from afar.
constexpr int64_t kWeightsAhead = 2048;
// A tile keeps its accumulators in registers.
constexpr int kWideRows = HWY_TARGET == HWY_AVX3 ? 12 : 6;

HWY_INLINE V8 Broadcast(const uint8_t* from) {
  int32_t four;
  std::memcpy(&four, from, sizeof(four));
  return hn::BitCast(D8(), hn::Set(D32(), four));
}

struct TileArgs {
  const uint8_t* left;
  int64_t left_row;
  const uint8_t* right;
  int64_t segments;
  bool add;               // to the accumulators that are there
  const uint8_t* groups;  // the first of the operand without offsets
  const int64_t* extra_groups;
  const uint8_t* extras;
  int64_t extra_count;
};

/// The accumulators of a tile so far: zeros, or what `out` holds.
template <int R, int N>
HWY_INLINE void StartAccumulators(bool add, const int32_t* out, V32 (&acc)[R][N]) {
  const D32 d32;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) acc[r][j] = add ? hn::Load(d32, out + r * kWidth + j * kLanes) : hn::Zero(d32);
  }
}

template <int R, int N>
HWY_INLINE void StoreAccumulators(const V32 (&acc)[R][N], int32_t* out) {
  const D32 d32;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) hn::Store(acc[r][j], d32, out + r * kWidth + j * kLanes);
  }
}

/// Groups with outliers. Records of the lhs are of kChannels output channels.
template <class Product, bool kVectors, int kChannels, int R, int N>
HWY_INLINE void AddExtras(const Product& product, const TileArgs& args, int64_t left_row, V32 (&acc)[R][N]) {
  constexpr int64_t kLeftRecord = 4 * kChannels;
  const D8 d8;
  for (int64_t e = 0; e < args.extra_count; ++e) {
    const uint8_t* a = kVectors ? args.groups + 4 * args.extra_groups[e] : args.extras + e * kLeftRecord;
    const uint8_t* b = kVectors ? args.extras + e * kRecord : args.groups + args.extra_groups[e] * kRecord;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const V8 av = Broadcast(a + r * left_row);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) {
        const V8 bv = hn::LoadU(d8, b + j * 4 * kLanes);
        acc[r][j] = kVectors ? product.Add(acc[r][j], av, bv) : product.Add(acc[r][j], bv, av);
      }
    }
  }
}

/// R rows by N vectors of accumulators, to which each group is added at once. kVectors: output channels are the rhs,
/// else the lhs, where the records are of kChannels output channels.
template <class Product, bool kVectors, int kChannels, int R, int N>
void PlainTile(const TileArgs& args, int32_t* out) {
  const D8 d8;
  const Product product;
  V32 acc[R][N];
  StartAccumulators(args.add, out, acc);
  const uint8_t* left = args.left;
  const uint8_t* right = args.right;
  const int64_t left_row = kVectors ? args.left_row : 4;
  for (int64_t s = 0; s < args.segments; ++s) {
    V8 b[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) b[j] = hn::LoadU(d8, right + j * 4 * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const V8 a = Broadcast(left + r * left_row);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) acc[r][j] = kVectors ? product.Add(acc[r][j], a, b[j]) : product.Add(acc[r][j], b[j], a);
    }
    right += kRecord;
    left += kVectors ? 4 : 4 * kChannels;
  }
  AddExtras<Product, kVectors, kChannels>(product, args, left_row, acc);
  StoreAccumulators(acc, out);
}

using TileFn = void (*)(const TileArgs&, int32_t*);

/// Of `rows` rows, by one vector or two.
template <class Product, bool kVectors, int kChannels, size_t... R>
constexpr TileFn PlainTileOf(std::index_sequence<R...>, int64_t rows, bool wide) {
  constexpr TileFn narrow_tiles[] = {PlainTile<Product, kVectors, kChannels, static_cast<int>(R) + 1, 1>...};
  constexpr TileFn wide_tiles[] = {PlainTile<Product, kVectors, kChannels, static_cast<int>(R) + 1, 2>...};
  return wide ? wide_tiles[rows - 1] : narrow_tiles[rows - 1];
}

inline const uint8_t* Bytes(const Tensor& tensor) { return static_cast<const uint8_t*>(tensor.raw()); }

constexpr int64_t kStayingInL1 = 20 << 10;   // of an operand in the first cache, while the other passes
constexpr int64_t kPassing = 8 * kWideRows;  // rows or output channels that are streamed

/// Of tiles that need nothing.
struct NoScope {
  explicit NoScope(const PackedWeightsS8&) {}
};

/// Accumulators of tiles that share their columns, rows [0, rows) of `passing` in all: part after part of k: the columns
/// stay in the first cache. `operands(i)` gives those of the i-th tile.
template <class Tiles, bool kVectors, class FindOperands>
void MultiplyStrip(const PackedWeightsS8& packed, int64_t staying_bytes, int64_t rows, int64_t width,
                   const FindOperands& operands, int32_t* accumulators, BlockPrefetch& prefetch) {
  const int64_t tile_rows = Tiles::Rows(packed);
  const int64_t per_segment = packed.wide() ? 1 : packed.depth;  // groups of the operand without offsets
  const int64_t records = packed.records();                      // of the other
  const int64_t parts = std::max<int64_t>(CeilDiv(staying_bytes, Tiles::kStayingBytes), 1);
  const int64_t step = RoundUp(CeilDiv(packed.segments, parts), Tiles::kSegmentStep);
  const TileFn whole_tile = Tiles::template Find<kVectors>(packed.depth, tile_rows, width > kLanes);
  for (int64_t s = 0; s == 0 || s < packed.segments; s += step) {
    CancellationPoint();
    const int64_t end = std::min(packed.segments, s + step);
    const auto operands_of = [&](int64_t i) {
      TileArgs args = operands(i);
      args.left += s * (kVectors ? 4 * per_segment : 4 * tile_rows * records);
      args.right += s * (kVectors ? records : per_segment) * kRecord;
      args.segments = end - s;
      args.add = s > 0;
      if (end < packed.segments) args.extra_count = 0;
      return args;
    };
    TileArgs args = operands_of(0);
    for (int64_t r = 0, i = 0; r < rows; r += tile_rows, ++i) {
      const int64_t some = std::min(tile_rows, rows - r);
      prefetch.Continue();
      if (i > 0 && kVectors) {
        args.left += tile_rows * args.left_row;
        args.groups += tile_rows * args.left_row;
      } else if (i > 0) {
        args = operands_of(i);
      }
      (some == tile_rows ? whole_tile : Tiles::template Find<kVectors>(packed.depth, some, width > kLanes))(
          args, accumulators + r * kWidth);
    }
    if (step == 0) break;
  }
}

template <class Tiles>
void MultiplyRowsBy(const PackedWeightsS8& packed, const RowsU8& left, int64_t m0, int64_t m1, int64_t b0, int64_t b1,
                    const OutputStage& store) {
  static_assert(kPassing % kTransposedRows == 0);
  HWY_ALIGN int32_t accumulators[kPassing * kWidth] = {};  // outliers read rows past the last
  const int64_t tile_rows = Tiles::Rows(packed);
  // Of few tiles each would ask for too much at once, and hold up its own loads.
  constexpr int64_t kFewTiles = 4;
  const int64_t tiles = CeilDiv(m1 - m0, tile_rows);
  BlockPrefetch prefetch(packed.block_bytes, tiles);
  for (int64_t b = b0; b < b1; ++b) {
    if (b + 1 < b1 && tiles > kFewTiles) prefetch.Begin(Bytes(packed.values) + (b + 1) * packed.block_bytes);
    const int64_t width = std::min<int64_t>(kWidth, packed.n - b * kWidth);
    const int64_t extra = packed.extra_begin[static_cast<size_t>(b)];
    const PanelStage stage(store, b * kWidth, width);
    for (int64_t m = m0; m < m1; m += kPassing) {
      const int64_t rows = std::min(kPassing, m1 - m);
      const auto operands = [&](int64_t i) {
        const uint8_t* from = left.data + (m + i * tile_rows) * left.row;
        return TileArgs{from,
                        left.row,
                        Bytes(packed.values) + b * packed.block_bytes,
                        0,
                        false,
                        from,
                        packed.extra_group.data() + extra,
                        Bytes(packed.extras) + extra * kRecord,
                        packed.extra_begin[static_cast<size_t>(b) + 1] - extra};
      };
      MultiplyStrip<Tiles, true>(packed, packed.block_bytes, rows, width, operands, accumulators, prefetch);
      if (left.transposed != nullptr) {
        AddOutliers(packed, left.transposed, m, rows, b * kWidth, kWidth, accumulators);
      } else if (!packed.outliers.empty()) {
        AddOutliersOfRows(packed, left.data + m * left.row, left.row, rows, b * kWidth, kWidth, accumulators);
      }
      stage.Store(accumulators, m, rows);
    }
  }
}

/// Of each pixel of a panel the sum of its k quantized values, of 8 or where `wide` 16 bits. What the last record has
/// beyond them is not defined.
HWY_INLINE void SumPixels(const uint8_t* panel, int64_t k, bool wide, int32_t* sums) {
  const D32 d32;
  const hn::RebindToUnsigned<D32> du32;
  const hn::ScalableTag<uint16_t> d16;
  const int64_t each = wide ? 2 : 4, records = CeilDiv(k, each), bits = (k - (records - 1) * each) * (wide ? 16 : 8);
  const auto last = hn::Set(du32, bits == 32 ? ~0u : (1u << bits) - 1);
  for (int64_t j = 0; j < kWidth; j += kLanes) {
    auto total = hn::Zero(du32);
    for (int64_t g = 0; g < records; ++g) {
      auto record = hn::BitCast(du32, hn::LoadU(D8(), panel + g * kRecord + 4 * j));
      if (g + 1 == records) record = hn::And(record, last);
      auto pairs = hn::BitCast(d16, record);
      if (!wide) pairs = hn::Add(hn::And(pairs, hn::Set(d16, 0xff)), hn::ShiftRight<8>(pairs));
      const auto both = hn::BitCast(du32, pairs);
      total = hn::Add(total, hn::Add(hn::And(both, hn::Set(du32, 0xffff)), hn::ShiftRight<16>(both)));
    }
    hn::Store(hn::BitCast(d32, total), d32, sums + j);
  }
}

/// The terms of the zero points of `rows` output channels, from the pixels' sums.
HWY_INLINE void AddZeroPoints(const int32_t* weight_zeros, const int32_t* pixel_sums, int64_t rows, int32_t* accumulators) {
  const D32 d32;
  for (int64_t r = 0; r < rows; ++r, accumulators += kWidth) {
    const V32 zero = hn::Set(d32, weight_zeros[r]);
    for (int64_t j = 0; j < kWidth; j += kLanes) {
      hn::Store(hn::Add(hn::Load(d32, accumulators + j), hn::Mul(zero, hn::Load(d32, pixel_sums + j))), d32,
                accumulators + j);
    }
  }
}

/// Where outputs of four bytes of pixel n of output channels [channel, channel + rows) go: cache lines of their own, which
/// come while the accumulators are computed. Bytes of several panels share one.
inline void PrefetchChannels(const OutputStage& store, int64_t channel, int64_t rows, int64_t n) {
  if (store.size() == 1) return;
  const int64_t step = store.row * store.size();
  const auto* to = static_cast<const uint8_t*>(store.data) + channel * step + n * store.size();
  for (int64_t r = 0; r < rows; ++r, to += step) __builtin_prefetch(to, 1);
}

template <class Tiles>
void MultiplyPanelsBy(const PackedWeightsS8& packed, const uint8_t* panels, int64_t panel_bytes, int64_t first,
                      int64_t pixels, int64_t b0, int64_t b1, const OutputStage& store) {
  HWY_ALIGN int32_t accumulators[kPassing * kWidth];
  const int64_t tile_rows = Tiles::Rows(packed);
  const int64_t last = std::min(packed.n, b1 * tile_rows);
  const typename Tiles::Scope scope(packed);
  BlockPrefetch none(0, 1);
  constexpr int64_t kCacheLine = 64;
  HWY_ALIGN int32_t pixel_sums[kCacheLine];
  const auto multiply = [&](int64_t n, int64_t channel, const int32_t* of_pixels) {
    const int64_t width = std::min<int64_t>(kWidth, pixels - n), rows = std::min(kPassing, last - channel),
                  first_block = channel / tile_rows;
    const uint8_t* panel = panels + n / kWidth * panel_bytes;
    const auto operands = [&](int64_t i) {
      const int64_t b = first_block + i;
      const int64_t extra = packed.extra_begin[static_cast<size_t>(b)];
      return TileArgs{Bytes(packed.values) + b * packed.block_bytes,
                      4,
                      panel,
                      0,
                      false,
                      panel,
                      packed.extra_group.data() + extra,
                      Bytes(packed.extras) + extra * 4 * tile_rows,
                      packed.extra_begin[static_cast<size_t>(b) + 1] - extra};
    };
    PrefetchChannels(store, channel, rows, first + n);
    MultiplyStrip<Tiles, false>(packed, panel_bytes, rows, width, operands, accumulators, none);
    if (store.weight_zeros != nullptr) AddZeroPoints(store.weight_zeros + channel, of_pixels, rows, accumulators);
    StoreChannels(store, accumulators, channel, rows, first + n, width);
  };
  // Panels that stay in the first cache fill cache lines of the output together.
  const int64_t together = std::clamp<int64_t>(kStayingInL1 / panel_bytes, 1, kCacheLine / kWidth) * kWidth;
  for (int64_t n0 = 0; n0 < pixels; n0 += together) {
    const int64_t end = std::min(pixels, n0 + together);
    for (int64_t n = n0; store.weight_zeros != nullptr && n < end; n += kWidth) {
      SumPixels(panels + n / kWidth * panel_bytes, packed.k, packed.wide(), pixel_sums + (n - n0));
    }
    for (int64_t channel = b0 * tile_rows; channel < last; channel += kPassing) {
      for (int64_t n = n0; n < end; n += kWidth) multiply(n, channel, pixel_sums + (n - n0));
    }
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
