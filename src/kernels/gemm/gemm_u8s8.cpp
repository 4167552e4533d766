// GEMM of unsigned bytes with constant signed bytes, by multiply-adds of pairs.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_u8s8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <utility>

#include "kernels/gemm/choose.h"
#include "kernels/gemm/gemm_u8s8-inl.h"
#include "kernels/gemm/pairs_u8s8-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// Each group widens at once.
struct Pairs {
  V16 one = hn::Set(D16(), 1);
  HWY_INLINE Pairs() { Pin(one); }
  HWY_INLINE V32 Add(V32 sum, V8 a, V8 b) const { return hn::Add(sum, Widen(MultiplyPairs(a, b), one)); }
};

/// As PlainTile, but `D` groups are accumulated in 16 bits.
template <bool kVectors, int D, int R, int N>
void Tile(const TileArgs& args, int32_t* out) {
  constexpr int64_t kLeftRecord = 4 * kRows;
  const D8 d8;
  const D16 d16;
  V32 acc[R][N];
  StartAccumulators(args.add, out, acc);
  const uint8_t* left = args.left;
  const uint8_t* right = args.right;
  const int64_t left_row = kVectors ? args.left_row : 4;
  for (int64_t s = 0; s < args.segments; ++s) {
    V16 acc16[R][N];
    if constexpr (kVectors) {
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) {
        const V16 offset = hn::BitCast(d16, hn::LoadU(d8, right + j * 4 * kLanes));
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) acc16[r][j] = offset;
      }
      right += kRecord;
    } else {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const V16 offset = hn::BitCast(d16, Broadcast(left + 4 * r));
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) acc16[r][j] = offset;
      }
      left += kLeftRecord;
    }
#pragma GCC unroll 4
    for (int d = 0; d < D; ++d) {
      V8 b[N];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) b[j] = hn::LoadU(d8, right + j * 4 * kLanes);
      if constexpr (kVectors) __builtin_prefetch(right + kWeightsAhead);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const V8 a = Broadcast(left + r * left_row);
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) {
          acc16[r][j] = hn::Add(acc16[r][j], kVectors ? MultiplyPairs(a, b[j]) : MultiplyPairs(b[j], a));
          Pin(acc16[r][j]);
        }
      }
      right += kRecord;
      left += kVectors ? 4 : kLeftRecord;
    }
    V16 one = hn::Set(d16, 1);
    Pin(one);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) acc[r][j] = hn::Add(acc[r][j], Widen(acc16[r][j], one));
    }
  }
  AddExtras<Pairs, kVectors, kRows>(Pairs(), args, left_row, acc);
  StoreAccumulators(acc, out);
}

/// The same of 16-bit operands, where the records of the lhs are of kWideRows output channels.
template <bool kVectors, int R, int N>
void WideTile(const TileArgs& args, int32_t* out) {
  const D16 d16;
  const D32 d32;
  const D8 d8;
  V32 acc[R][N];
  StartAccumulators(args.add, out, acc);
  const uint8_t* left = args.left;
  const uint8_t* right = args.right;
  const int64_t left_row = kVectors ? args.left_row : 4;
  V32 unused = hn::Zero(d32);
  for (int64_t s = 0; s < args.segments; ++s) {
    V16 b[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) b[j] = hn::BitCast(d16, hn::LoadU(d8, right + j * 4 * kLanes));
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const V16 a = hn::BitCast(d16, Broadcast(left + r * left_row));
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) acc[r][j] = hn::ReorderWidenMulAccumulate(d32, a, b[j], acc[r][j], unused);
    }
    right += kRecord;
    left += kVectors ? 4 : 4 * kWideRows;
  }
  StoreAccumulators(acc, out);
}

template <bool kVectors, int D, size_t... R>
constexpr TileFn TileOf(std::index_sequence<R...>, int64_t rows, bool wide) {
  constexpr TileFn narrow_tiles[] = {Tile<kVectors, D, static_cast<int>(R) + 1, 1>...};
  constexpr TileFn wide_tiles[] = {Tile<kVectors, D, static_cast<int>(R) + 1, 2>...};
  return wide ? wide_tiles[rows - 1] : narrow_tiles[rows - 1];
}

template <bool kVectors, size_t... R>
constexpr TileFn WideTileOf(std::index_sequence<R...>, int64_t rows, bool wide) {
  constexpr TileFn narrow_tiles[] = {WideTile<kVectors, static_cast<int>(R) + 1, 1>...};
  constexpr TileFn wide_tiles[] = {WideTile<kVectors, static_cast<int>(R) + 1, 2>...};
  return wide ? wide_tiles[rows - 1] : narrow_tiles[rows - 1];
}

/// Of the tiles here, by the depth that weights are packed for.
struct PairTiles {
  static constexpr int64_t kStayingBytes = kStayingInL1, kSegmentStep = 1;
  using Scope = NoScope;

  static int64_t Rows(const PackedWeightsS8& packed) { return packed.wide() ? kWideRows : kRows; }

  template <bool kVectors>
  static TileFn Find(int64_t depth, int64_t rows, bool wide) {
    constexpr auto kSequence = std::make_index_sequence<kRows>{};
    switch (depth) {
      case 0: return WideTileOf<kVectors>(std::make_index_sequence<kWideRows>{}, rows, wide);
      case 1: return PlainTileOf<Pairs, kVectors, kRows>(kSequence, rows, wide);
      case 2: return TileOf<kVectors, 2>(kSequence, rows, wide);
      case 3: return TileOf<kVectors, 3>(kSequence, rows, wide);
      default: return TileOf<kVectors, 4>(kSequence, rows, wide);
    }
  }
};

}  // namespace

U8S8Kernels PairTable() {
  return {.available = kAvailable,
          .packing = U8S8Packing::kPairs,
          .width = kWidth,
          .rows = kRows,
          .wide_rows = kWideRows,
          .multiply_ns = 0.008,
          .multiply_rows = MultiplyRowsBy<PairTiles>,
          .multiply_panels = MultiplyPanelsBy<PairTiles>};
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(PairTable);

U8S8Kernels PairKernelsU8S8() {
  U8S8Kernels kernels = HWY_DYNAMIC_DISPATCH(PairTable)();
  kernels.multiply_padded_rows = PairPaddedRows();
  return kernels;
}

namespace {

// What rows of kernels.inc need.
U8S8Kernels Amx() { return TileKernelsU8S8(false); }
U8S8Kernels Vnni() { return DotKernelsU8S8(false); }
U8S8Kernels Vectors() { return PairKernelsU8S8(); }
U8S8Kernels Emulated() { return DotKernelsU8S8(true); }
U8S8Kernels EmulatedTiles() { return TileKernelsU8S8(true); }

}  // namespace

#define TESSERA_GEMM_U8S8(name, Needs, Lhs, Rhs, T, few, many, steps, format) \
  {#name, Needs(), Needs == Emulated || Needs == EmulatedTiles},
std::span<const U8S8Row> RowsU8S8() {
  static const U8S8Row rows[] = {
#include "kernels/gemm/kernels.inc"
  };
  return rows;
}

const U8S8Kernels& KernelsU8S8() {
  static const U8S8Kernels& kernels = [&]() -> const U8S8Kernels& {
    static const U8S8Kernels none;
    for (const U8S8Row& row : RowsU8S8()) {
      if (row.kernels.available && !row.emulated) return row.kernels;
    }
    return none;
  }();
  return kernels;
}

double MultiplyNsU8S8() { return KernelsU8S8().multiply_ns; }

namespace {

const U8S8Kernels& Dots() {
  static const U8S8Kernels kernels = DotKernelsU8S8(false);
  return kernels;
}

/// Those that weights were packed for.
const U8S8Kernels& KernelsOf(const PackedWeightsS8& packed) {
  const U8S8Kernels& best = KernelsU8S8();
  return packed.tiles || best.packing != U8S8Packing::kTiles ? best : Dots();
}

/// Those that multiply rows by panels: where tiles do not pay dot products, for which records are the same.
const U8S8Kernels& KernelsOf(const PackedWeightsS8& packed, int64_t rows, int64_t panels) {
  if (packed.tiles && ChooseU8S8Path(rows, packed.groups(), std::min(packed.n, panels * packed.width)) == U8S8Path::kDots)
    return Dots();
  return KernelsOf(packed);
}

}  // namespace

void MultiplyRows(const PackedWeightsS8& packed, const RowsU8& left, int64_t m0, int64_t m1, int64_t b0, int64_t b1,
                  const OutputStage& store) {
  KernelsOf(packed, m1 - m0, b1 - b0).multiply_rows(packed, left, m0, m1, b0, b1, store);
}

void MultiplyPaddedRows(const PackedWeightsS8& packed, const PaddedRowsU8& rows, int64_t b0, int64_t b1,
                        const OutputStage& store) {
  KernelsOf(packed, rows.count, b1 - b0).multiply_padded_rows(packed, rows, b0, b1, store);
}

void MultiplyPanels(const PackedWeightsS8& packed, const uint8_t* panels, int64_t panel_bytes, int64_t first,
                    int64_t pixels, int64_t b0, int64_t b1, const OutputStage& store) {
  KernelsOf(packed).multiply_panels(packed, panels, panel_bytes, first, pixels, b0, b1, store);
}

}  // namespace tessera::cpu
#endif
