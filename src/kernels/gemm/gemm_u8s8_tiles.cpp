// GEMM of unsigned bytes with constant signed bytes by tiles (AMX): 16 rows by 16 columns are multiplied over 64 bytes in
// one instruction. Weights are packed as they are; what is left of k after whole tiles is a tile of its own, `extras`,
// whose first groups the tile before has multiplied already: they are zeros.

#include "kernels/gemm/tile_unit.h"
#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_u8s8_tiles.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/gemm/rows_u8s8-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

// A panel is two tiles wide where vectors have 16 lanes.
constexpr bool kFits = kLanes == kTileColumns;
constexpr int64_t kAccumulatorBytes = 4 * kWidth;

int64_t GroupsOfTile(const PackedWeightsS8& packed) { return std::min(packed.groups(), kTileGroups); }

/// Two tiles' rows of the left operand, or one's, and a panel of the right one, or half of it.
struct TileOperands {
  const uint8_t *first, *second;  // of the left operand's rows
  int64_t left_row, left_step;    // bytes from row to row, and from tile to tile
  const uint8_t* right;

  void Next() {
    first += left_step;
    second += left_step;
    right += kTileGroups * kRecord;
  }
};

/// Of weights, step by step: of rows that one pass over a panel multiplies what comes next, of more the next panel.
class TilePrefetch {
 public:
  TilePrefetch(const PackedWeightsS8& packed, int64_t rows)
      : streams_(rows <= 2 * kTileRows),
        next_panel_(packed.block_bytes, CeilDiv(rows, 2 * kTileRows) * CeilDiv(packed.segments, kTileGroups)) {}

  void Begin(const void* next_panel) { next_panel_.Begin(next_panel); }
  void Step(const uint8_t* weights) {
    if (!streams_) return next_panel_.Continue();
    constexpr int64_t kStep = kTileGroups * kRecord, kAhead = 2 * kStep, kCacheLine = 64;
    for (int64_t line = 0; line < kStep; line += kCacheLine) __builtin_prefetch(weights + kAhead + line);
  }

 private:
  bool streams_;
  BlockPrefetch next_panel_;
};

struct NoPrefetch {
  void Step(const uint8_t*) {}
};

/// To the accumulators of tiles kAccumulators and kAccumulators + 1, of the second rows two behind.
template <class Unit, bool kVectors, int R, int N, int kAccumulators = 0>
HWY_INLINE void MultiplyTiles(Unit& unit, const TileOperands& at) {
  unit.template Load<6>(at.right, kRecord);
  unit.template Load<4>(at.first, at.left_row);
  unit.template Multiply<kAccumulators, 4, 6, kVectors>();
  if constexpr (N == 2) {
    unit.template Load<7>(at.right + 64, kRecord);
    unit.template Multiply<kAccumulators + 1, 4, 7, kVectors>();
  }
  if constexpr (R == 2) {
    unit.template Load<5>(at.second, at.left_row);
    unit.template Multiply<2, 5, 6, kVectors>();
    if constexpr (N == 2) unit.template Multiply<3, 5, 7, kVectors>();
  }
}

template <class Unit, int N, int kAccumulators>
HWY_INLINE void ZeroAccumulators(Unit& unit) {
  unit.template Zero<kAccumulators>();
  if constexpr (N == 2) unit.template Zero<kAccumulators + 1>();
}

template <class Unit, int N, int kAccumulators>
HWY_INLINE void LoadAccumulators(Unit& unit, const int32_t* from) {
  unit.template Load<kAccumulators>(from, kAccumulatorBytes);
  if constexpr (N == 2) unit.template Load<kAccumulators + 1>(from + kTileColumns, kAccumulatorBytes);
}

template <class Unit, int N, int kAccumulators>
HWY_INLINE void StoreTileAccumulators(Unit& unit, int32_t* to) {
  unit.template Store<kAccumulators>(to, kAccumulatorBytes);
  if constexpr (N == 2) unit.template Store<kAccumulators + 1>(to + kTileColumns, kAccumulatorBytes);
}

/// The sums of `steps` tiles of k, and where `tail` is not null of that one, to kTileRows rows of `out`, or twice as many;
/// `add`: to those that are there. One tile's rows use the memory of two, as every other step has sums of its own: a
/// product waits for the one before that it is added to.
template <class Unit, bool kVectors, int R, int N, class Prefetch>
void SumTiles(Unit& unit, TileOperands at, int64_t steps, const TileOperands* tail, bool add, int32_t* out,
              Prefetch& prefetch) {
  int32_t* second = out + kTileRows * kWidth;
  const bool apart = R == 1 && steps > 1;
  add ? LoadAccumulators<Unit, N, 0>(unit, out) : ZeroAccumulators<Unit, N, 0>(unit);
  if (R == 2 && add) LoadAccumulators<Unit, N, 2>(unit, second);
  else if (R == 2 || apart) ZeroAccumulators<Unit, N, 2>(unit);
  int64_t i = 0;
  for (; R == 1 && i + 2 <= steps; i += 2) {
    MultiplyTiles<Unit, kVectors, R, N>(unit, at);
    prefetch.Step(at.right);
    at.Next();
    MultiplyTiles<Unit, kVectors, R, N, 2>(unit, at);
    prefetch.Step(at.right);
    at.Next();
  }
  for (; i < steps; ++i, at.Next()) {
    MultiplyTiles<Unit, kVectors, R, N>(unit, at);
    prefetch.Step(at.right);
  }
  if (tail != nullptr) MultiplyTiles<Unit, kVectors, R, N>(unit, *tail);
  StoreTileAccumulators<Unit, N, 0>(unit, out);
  if (R == 2 || apart) StoreTileAccumulators<Unit, N, 2>(unit, second);
  if (!apart) return;
  const D32 d32;
  for (int64_t row = 0; row < unit.rows(); ++row, out += kWidth, second += kWidth) {
#pragma GCC unroll 2
    for (int j = 0; j < N * kLanes; j += kLanes)
      hn::Store(hn::Add(hn::Load(d32, out + j), hn::Load(d32, second + j)), d32, out + j);
  }
}

template <class Unit, bool kVectors, class Prefetch>
HWY_INLINE void SumTiles(Unit& unit, bool two_rows, bool two_columns, const TileOperands& at, int64_t steps,
                         const TileOperands* tail, bool add, int32_t* out, Prefetch& prefetch) {
  if (two_rows) {
    two_columns ? SumTiles<Unit, kVectors, 2, 2>(unit, at, steps, tail, add, out, prefetch)
                : SumTiles<Unit, kVectors, 2, 1>(unit, at, steps, tail, add, out, prefetch);
  } else {
    two_columns ? SumTiles<Unit, kVectors, 1, 2>(unit, at, steps, tail, add, out, prefetch)
                : SumTiles<Unit, kVectors, 1, 1>(unit, at, steps, tail, add, out, prefetch);
  }
}

/// The parts of k of an operand whose panels have `bytes` bytes: each but the last so many tiles.
struct Parts {
  Parts(const PackedWeightsS8& packed, int64_t bytes)
      : tiles(std::max<int64_t>(packed.groups() / kTileGroups, 1)),
        step(CeilDiv(tiles, std::max<int64_t>(CeilDiv(bytes, kStayingBytes), 1))),
        tail(packed.groups() > kTileGroups && packed.groups() % kTileGroups != 0) {}

  static constexpr int64_t kStayingBytes = 256 << 10;  // in the second cache

  int64_t tiles, step;
  bool tail;
};

/// Rows in strips whose accumulators stay in the first cache. Where the last rows are fewer than a tile has, it begins
/// earlier and computes some once more.
template <class Unit>
class RowStrips {
 public:
  RowStrips(const PackedWeightsS8& packed, const RowsU8& left, int64_t rows)
      : packed_(packed),
        left_(left),
        height_(std::min(rows, kTileRows)),
        parts_(packed, packed.block_bytes),
        unit_(height_, GroupsOfTile(packed)) {}

  /// Rows [m, m + rows) by a panel.
  void Multiply(int64_t m, int64_t rows, int64_t panel, int64_t width, const PanelStage& stage, TilePrefetch& prefetch) {
    const int64_t tiles = CeilDiv(rows, height_);
    const uint8_t* weights = Bytes(packed_.values) + panel * packed_.block_bytes;
    const uint8_t* extras = Bytes(packed_.extras) + panel * kTileGroups * kRecord;
    const auto row_of = [&](int64_t tile) { return m + std::min(tile * height_, rows - height_); };
    for (int64_t part = 0; part < parts_.tiles; part += parts_.step) {
      CancellationPoint();
      const int64_t end = std::min(parts_.tiles, part + parts_.step);
      for (int64_t tile = 0; tile < tiles; tile += 2) {
        const bool two = tile + 1 < tiles;
        TileOperands at{left_.data + row_of(tile) * left_.row, left_.data + row_of(two ? tile + 1 : tile) * left_.row,
                        left_.row, 4 * kTileGroups, extras};
        TileOperands tail = at;
        const int64_t behind = 4 * (packed_.groups() - kTileGroups);  // where the last tile begins
        tail.first += behind;
        tail.second += behind;
        at.first += part * at.left_step;
        at.second += part * at.left_step;
        at.right = weights + part * kTileGroups * kRecord;
        SumTiles<Unit, true>(unit_, two, width > kTileColumns, at, end - part,
                             parts_.tail && end == parts_.tiles ? &tail : nullptr, part > 0,
                             accumulators_ + tile * kTileRows * kWidth, prefetch);
      }
    }
    // Tiles of fewer than kTileRows rows are alone.
    const int64_t whole = rows / height_;
    stage.Store(accumulators_, m, whole * height_);
    if (whole < tiles) stage.Store(accumulators_ + whole * kTileRows * kWidth, row_of(whole), height_);
  }

  int64_t height() const { return height_; }

 private:
  const PackedWeightsS8& packed_;
  const RowsU8& left_;
  const int64_t height_;
  const Parts parts_;
  Unit unit_;
  HWY_ALIGN int32_t accumulators_[kPassing * kWidth];
};

template <class Unit>
void MultiplyRowsByTiles(const PackedWeightsS8& packed, const RowsU8& left, int64_t m0, int64_t m1, int64_t b0, int64_t b1,
                         const OutputStage& store) {
  static_assert(kPassing % (2 * kTileRows) == 0 || !kFits);
  if (m0 >= m1) return;
  RowStrips<Unit> strips(packed, left, m1 - m0);
  TilePrefetch prefetch(packed, m1 - m0);
  for (int64_t b = b0; b < b1; ++b) {
    if (b + 1 < b1) prefetch.Begin(Bytes(packed.values) + (b + 1) * packed.block_bytes);
    const int64_t width = std::min<int64_t>(kWidth, packed.n - b * kWidth);
    const PanelStage stage(store, b * kWidth, width);
    for (int64_t m = m0; m < m1; m += kPassing) {
      const int64_t first = std::min(m, m1 - strips.height());
      strips.Multiply(first, std::min(kPassing, m1 - first), b, width, stage, prefetch);
    }
  }
}

template <class Unit>
void MultiplyPaddedRowsByTiles(const PackedWeightsS8& packed, const PaddedRowsU8& rows, int64_t b0, int64_t b1,
                               const OutputStage& store) {
  MultiplyRowsByTiles<Unit>(packed, {rows.data, rows.row}, 0, rows.count, b0, b1, store);
}

/// Panels of weights are the left operand: tile after tile of 32 output channels, each channel's bytes adjacent.
template <class Unit>
struct PanelTiles {
  static constexpr int64_t kStayingBytes = Parts::kStayingBytes, kSegmentStep = kTileGroups;

  static int64_t Rows(const PackedWeightsS8&) { return 2 * kTileRows; }

  class Scope {
   public:
    explicit Scope(const PackedWeightsS8& packed) : unit_(kTileRows, GroupsOfTile(packed)), outer_(current_) {
      current_ = &unit_;
    }
    ~Scope() { current_ = outer_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Unit unit_;
    Unit* outer_;
  };

  template <bool kVectors>
  static TileFn Find(int64_t, int64_t rows, bool wide) {
    static_assert(!kVectors);
    if (rows > kTileRows) return wide ? Run<true, true> : Run<true, false>;
    return wide ? Run<false, true> : Run<false, false>;
  }

 private:
  template <bool kTwoRows, bool kTwoColumns>
  static void Run(const TileArgs& args, int32_t* out) {
    const int64_t groups = std::min(args.segments, kTileGroups), bytes = kTileRows * 4 * groups;
    const TileOperands at{args.left, args.left + bytes, 4 * groups, 2 * bytes, args.right};
    TileOperands tail = at;
    if (args.extra_count > 0) {
      tail.first = args.extras;
      tail.second = args.extras + bytes;
      tail.right = args.groups + args.extra_groups[0] * kRecord;
    }
    NoPrefetch none;
    SumTiles<Unit, false>(*current_, kTwoRows, kTwoColumns, at, CeilDiv(args.segments, kTileGroups),
                          args.extra_count > 0 ? &tail : nullptr, args.add, out, none);
  }

  static inline thread_local Unit* current_ = nullptr;
};

template <class Unit>
U8S8Kernels TableOf() {
  if constexpr (!kFits) return {};
  else
    return {.available = Unit::Available(),
            .packing = U8S8Packing::kTiles,
            .width = kWidth,
            .rows = 2 * kTileRows,
            .wide_rows = 2 * kTileRows,
            .multiply_ns = 0.001,
            .multiply_rows = MultiplyRowsByTiles<Unit>,
            .multiply_panels = MultiplyPanelsBy<PanelTiles<Unit>>,
            .multiply_padded_rows = MultiplyPaddedRowsByTiles<Unit>};
}

}  // namespace

U8S8Kernels TileTable(bool emulated) { return emulated ? TableOf<EmulatedTileUnit>() : TableOf<TileUnit>(); }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(TileTable);

U8S8Kernels TileKernelsU8S8(bool emulated) { return HWY_DYNAMIC_DISPATCH(TileTable)(emulated); }

}  // namespace tessera::cpu
#endif
