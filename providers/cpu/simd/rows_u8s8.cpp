// Products of rows of unsigned bytes with constant signed bytes.

#include "simd/rows_u8s8.h"

#include "base/rounding.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/rows_u8s8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "simd/pairs_u8s8-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kRowsPassing = 16 * kRows;     // rows, when sums of a part of k are kept

/// One block of lines, and a part of k.
struct Part {
  const uint8_t* weights;
  const uint8_t* rows;  // at the part's first byte
  int64_t row, count;
  int64_t segments;
  const uint8_t* whole_rows;  // at the first byte of k, for the groups that stand aside
  const int64_t* extra_groups;
  const uint8_t* extras;
  int64_t extra_count;
  const int32_t* add;
  const int32_t* line_zeros;  // null: none
  const int32_t* row_sums;
  const float* scales;
  int32_t zero;
  int32_t* sums;     // of each tile
  bool first, last;  // parts of k
  void* out;
  int64_t out_row, width;
};

template <int N>
HWY_INLINE void AddGroup(const uint8_t* left, int64_t row, const uint8_t* right, V32 (&acc)[kRows][N]) {
  V8 b[N];
#pragma GCC unroll 2
  for (int j = 0; j < N; ++j) b[j] = hn::LoadU(D8(), right + j * 4 * kLanes);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const V8 a = Broadcast(left + r * row);
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) acc[r][j] = hn::Add(acc[r][j], Widen(MultiplyPairs(a, b[j]), hn::Set(D16(), 1)));
  }
}

/// D groups that sum in 16 bits.
template <int D, int N>
HWY_INLINE void AddSegment(const uint8_t* left, int64_t row, const uint8_t* right, V32 (&acc)[kRows][N]) {
  const D8 d8;
  const D16 d16;
  V16 sums[kRows][N];
#pragma GCC unroll 2
  for (int j = 0; j < N; ++j) {
    const V16 offset = hn::BitCast(d16, hn::LoadU(d8, right + j * 4 * kLanes));
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sums[r][j] = offset;
  }
  V16 one = hn::Set(d16, 1);
  Pin(one);
#pragma GCC unroll 4
  for (int d = 0; d < D; ++d) {
    V8 b[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) b[j] = hn::LoadU(d8, right + (d + 1) * kRecord + j * 4 * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const V8 a = Broadcast(left + 4 * d + r * row);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) {
        V16 sum = hn::Add(sums[r][j], MultiplyPairs(a, b[j]));
        Pin(sum);
        sums[r][j] = sum;
        // Here, as sums that another loop widens would go through memory.
        if (d == D - 1) acc[r][j] = hn::Add(acc[r][j], Widen(sum, one));
      }
    }
  }
}

template <int N, class T>
HWY_INLINE void StoreTile(const Part& part, const V32 (&acc)[kRows][N], T* out) {
  const DF df;
  HWY_ALIGN T buffer[kWidth];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    V32 codes[2];
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      codes[j] = RoundCodes(hn::Mul(hn::ConvertTo(df, acc[r][j % N]), hn::LoadU(df, part.scales + j % N * kLanes)));
    }
    T* to = out + r * part.out_row;
    if (part.width == kWidth) {
      StoreCodes(codes[0], codes[1], part.zero, to);
    } else if (part.width == kLanes) {
      StoreCodes(codes[0], codes[1], part.zero, buffer);
      std::memcpy(to, buffer, kLanes);
    } else {
      StoreCodes(codes[0], codes[1], part.zero, buffer);
      std::memcpy(to, buffer, static_cast<size_t>(part.width));
    }
  }
}

/// What products are added to.
template <int N>
HWY_INLINE void StartTile(const Part& part, int64_t m, const int32_t* sums, V32 (&acc)[kRows][N]) {
  const D32 d32;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      acc[r][j] = hn::LoadU(d32, part.first ? part.add + j * kLanes : sums + r * kWidth + j * kLanes);
    }
  }
  if (!part.first || part.line_zeros == nullptr) return;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      acc[r][j] = hn::Add(acc[r][j], hn::Mul(hn::Set(d32, part.row_sums[m + r]), hn::LoadU(d32, part.line_zeros + j * kLanes)));
    }
  }
}

/// kRows rows from `m`.
template <int D, int N, class T>
HWY_INLINE void Tile(const Part& part, int64_t m, int32_t* sums) {
  const D32 d32;
  const int64_t row = part.row;
  V32 acc[kRows][N];
  StartTile(part, m, sums, acc);
  const uint8_t* left = part.rows + m * row;
  const uint8_t* right = part.weights;
  for (int64_t s = 0; s < part.segments; ++s) {
    if constexpr (D == 1) {
      AddGroup(left, row, right, acc);
      right += kRecord;
    } else {
      AddSegment<D>(left, row, right, acc);
      right += (D + 1) * kRecord;
    }
    left += 4 * D;
  }
  // What the store needs is read again for each tile: kept in registers, it would drive sums out of them.
  asm volatile("" ::: "memory");
  if (!part.last) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) hn::StoreU(acc[r][j], d32, sums + r * kWidth + j * kLanes);
    }
    return;
  }
  for (int64_t e = 0; e < part.extra_count; ++e) AddGroup(part.whole_rows + m * row + 4 * part.extra_groups[e], row, part.extras + e * kRecord, acc);
  StoreTile(part, acc, static_cast<T*>(part.out) + m * part.out_row);
}

/// The last tile overlaps the one before where rows are left over.
template <int D, int N, class T>
void Tiles(const Part& part, BlockPrefetch& prefetch) {
  for (int64_t m = 0; m < part.count; m += kRows) {
    prefetch.Continue();
    Tile<D, N, T>(part, std::min(m, part.count - kRows), part.sums + m * kWidth);
  }
}

using TilesFn = void (*)(const Part&, BlockPrefetch&);

template <int N, class T>
TilesFn TilesOf(int64_t depth) {
  constexpr TilesFn kTiles[] = {Tiles<1, N, T>, Tiles<2, N, T>, Tiles<3, N, T>, Tiles<4, N, T>};
  return kTiles[depth - 1];
}

TilesFn FindTiles(int64_t depth, bool narrow, bool is_signed) {
  if (narrow) return is_signed ? TilesOf<1, int8_t>(depth) : TilesOf<1, uint8_t>(depth);
  return is_signed ? TilesOf<2, int8_t>(depth) : TilesOf<2, uint8_t>(depth);
}

/// A block of lines by at least kRows rows.
void MultiplyBlock(const PackedLines& lines, const CodeRows& rows, int64_t b, const Int8Store& store, int32_t* sums, BlockPrefetch& prefetch) {
  const auto block = static_cast<size_t>(b);
  const int64_t line = b * kWidth, width = std::min<int64_t>(kWidth, lines.lines - line), records = lines.records();
  const int64_t parts = std::max<int64_t>(CeilDiv(lines.block_bytes, kStayingBytes), 1);
  const int64_t step = std::max<int64_t>(CeilDiv(lines.segments, parts), 1);
  const TilesFn tiles = FindTiles(lines.depth, width <= kLanes, store.kind == Int8Store::kInt8);
  const auto* weights = static_cast<const uint8_t*>(lines.values.raw()) + b * lines.block_bytes;
  Part part{};
  part.row = rows.row;
  part.extra_groups = lines.extra_group.data() + lines.extra_begin[block];
  part.extras = static_cast<const uint8_t*>(lines.extras.raw()) + lines.extra_begin[block] * kRecord;
  part.extra_count = lines.extra_begin[block + 1] - lines.extra_begin[block];
  part.add = store.add + line;
  part.line_zeros = store.line_zeros == nullptr ? nullptr : store.line_zeros + line;
  part.scales = store.scales + line;
  part.zero = store.zero;
  part.sums = sums;
  part.out_row = store.row;
  part.width = width;
  const int64_t together = step < lines.segments ? kRowsPassing : rows.count;
  for (int64_t m = 0; m < rows.count; m += together) {
    const int64_t first = std::min(m, std::max<int64_t>(rows.count - kRows, 0));  // the last may be too few
    part.count = std::min(together, rows.count - first);
    part.whole_rows = rows.data + first * rows.row;
    part.row_sums = part.line_zeros == nullptr ? nullptr : store.row_sums + first;
    part.out = static_cast<uint8_t*>(store.data) + first * store.row + line;
    for (int64_t s = 0; s == 0 || s < lines.segments; s += step) {
      part.segments = std::min(step, lines.segments - s);
      part.first = s == 0;
      part.last = s + step >= lines.segments;
      part.weights = weights + s * records * kRecord;
      part.rows = part.whole_rows + s * 4 * lines.depth;
      tiles(part, prefetch);
    }
  }
}

void MultiplyAll(const PackedLines& lines, const CodeRows& rows, int64_t b0, int64_t b1, const Int8Store& store) {
  HWY_ALIGN int32_t sums[kRowsPassing * kWidth];
  if (rows.count < kRows) {  // a tile of one row, again and again
    Int8Store single = store;
    single.row = 0;
    BlockPrefetch none(0, 1);
    int32_t row_sums[kRows];
    for (int64_t m = 0; m < rows.count; ++m) {
      if (store.line_zeros != nullptr) std::fill_n(row_sums, kRows, store.row_sums[m]);
      single.row_sums = row_sums;
      single.data = static_cast<uint8_t*>(store.data) + m * store.row;
      for (int64_t b = b0; b < b1; ++b) MultiplyBlock(lines, {rows.data + m * rows.row, 0, kRows}, b, single, sums, none);
    }
    return;
  }
  BlockPrefetch prefetch(lines.block_bytes, CeilDiv(rows.count, kRows));
  for (int64_t b = b0; b < b1; ++b) {
    if (b + 1 < b1) prefetch.Begin(static_cast<const uint8_t*>(lines.values.raw()) + (b + 1) * lines.block_bytes);
    MultiplyBlock(lines, rows, b, store, sums, prefetch);
  }
}

void SumRows(const CodeRows& rows, int32_t* sums) {
  const D8 d8;
  const hn::Repartition<uint64_t, D8> d64;
  constexpr int64_t kBytes = 4 * kLanes;
  const uint8_t* row = rows.data;
  for (int64_t m = 0; m < rows.count; ++m, row += rows.row) {
    auto total = hn::Zero(d64);
    int64_t i = 0;
    for (; i + kBytes <= rows.row; i += kBytes) total = hn::Add(total, hn::SumsOf8(hn::LoadU(d8, row + i)));
    auto sum = static_cast<int32_t>(hn::GetLane(hn::SumOfLanes(d64, total)));
    for (; i < rows.row; ++i) sum += row[i];
    sums[m] = sum;
  }
}

int64_t WidthOfBlock() { return kAvailable ? kWidth : 0; }

}  // namespace

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(WidthOfBlock);
HWY_EXPORT(MultiplyAll);
HWY_EXPORT(SumRows);

// Dot products multiply panels faster than this does rows.
int64_t CodeRowsWidth() { return KernelsU8S8().exact ? 0 : HWY_DYNAMIC_DISPATCH(WidthOfBlock)(); }

void SumCodeRows(const CodeRows& rows, int32_t* sums) { HWY_DYNAMIC_DISPATCH(SumRows)(rows, sums); }

void MultiplyCodeRows(const PackedLines& lines, const CodeRows& rows, int64_t b0, int64_t b1, const Int8Store& store) {
  HWY_DYNAMIC_DISPATCH(MultiplyAll)(lines, rows, b0, b1, store);
}

}  // namespace tessera::cpu
#endif
