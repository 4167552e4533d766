// Loops of the GEMM of rows of unsigned bytes with packed signed bytes whose output stage runs in registers,
// whatever multiplies. Included once per target after hwy/highway.h.
//
// `Tiles` knows the fewest rows of its tiles, how much of the weights it wants to stay in a cache while rows are streamed,
// how often a tile of so many segments prefetches the next weights, and finds the function that multiplies a Part.

#if defined(TESSERA_ROWS_U8S8_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ROWS_U8S8_INL_H
#undef TESSERA_ROWS_U8S8_INL_H
#else
#define TESSERA_ROWS_U8S8_INL_H
#endif

#include <algorithm>

#include "base/work_array.h"
#include "kernels/gemm/gemm_u8s8-inl.h"
#include "kernels/gemm/rows_u8s8.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// One panel of output channels, and a part of k.
struct Part {
  const uint8_t* weights;
  const uint8_t* rows;  // at the part's first byte
  int64_t row, count;
  int64_t segments;
  const uint8_t* whole_rows;  // at the first byte of k, for the groups of outliers
  const int64_t* extra_groups;
  const uint8_t* extras;
  int64_t extra_count;
  const int32_t* add;
  const int32_t* weight_zeros;  // null: none
  const int32_t* row_sums;
  const float* scales;
  const float* bias;  // of floats; null: none
  int32_t zero;
  int32_t* accumulators;  // accumulators of each tile
  bool first, last;       // parts of k
  void* out;
  int64_t out_row, width;
};

using PartFn = void (*)(const Part&, BlockPrefetch&);

/// The initial accumulators.
template <int R, int N>
HWY_INLINE void StartTile(const Part& part, int64_t m, const int32_t* accumulators, V32 (&acc)[R][N]) {
  const D32 d32;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      acc[r][j] = hn::LoadU(d32, part.first ? part.add + j * kLanes : accumulators + r * kWidth + j * kLanes);
    }
  }
  if (!part.first || part.weight_zeros == nullptr) return;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      acc[r][j] =
          hn::Add(acc[r][j], hn::Mul(hn::Set(d32, part.row_sums[m + r]), hn::LoadU(d32, part.weight_zeros + j * kLanes)));
    }
  }
}

template <int R, int N>
HWY_INLINE void StoreTile(const Part& part, const V32 (&acc)[R][N], float* out) {
  const DF df;
#pragma GCC unroll 2
  for (int64_t j = 0; j < N; ++j) {
    const auto scale = hn::LoadU(df, part.scales + j * kLanes),
               bias = part.bias == nullptr ? hn::Zero(df) : hn::LoadU(df, part.bias + j * kLanes);
    const int64_t count = std::min<int64_t>(part.width - j * kLanes, kLanes);
    float* to = out + j * kLanes;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r, to += part.out_row) {
      const auto value = hn::Add(hn::Mul(hn::ConvertTo(df, acc[r][j]), scale), bias);
      if (HWY_LIKELY(count == kLanes)) {
        hn::StoreU(value, df, to);
      } else {
        HWY_ALIGN float buffer[kLanes];
        hn::Store(value, df, buffer);
        std::copy_n(buffer, count, to);
      }
    }
  }
}

/// The accumulators themselves.
template <int R, int N>
HWY_INLINE void StoreTile(const Part& part, const V32 (&acc)[R][N], int32_t* out) {
  const D32 d32;
#pragma GCC unroll 2
  for (int64_t j = 0; j < N; ++j) {
    const int64_t count = std::min<int64_t>(part.width - j * kLanes, kLanes);
    int32_t* to = out + j * kLanes;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r, to += part.out_row) {
      if (HWY_LIKELY(count == kLanes)) {
        hn::StoreU(acc[r][j], d32, to);
      } else {
        HWY_ALIGN int32_t buffer[kLanes];
        hn::Store(acc[r][j], d32, buffer);
        std::copy_n(buffer, count, to);
      }
    }
  }
}

template <int R, int N, class T>
HWY_INLINE void StoreTile(const Part& part, const V32 (&acc)[R][N], T* out) {
  const DF df;
  const auto rounded = [&](int r, int j) HWY_ATTR {
    return RoundToInt32(hn::Mul(hn::ConvertTo(df, acc[r][j % N]), hn::LoadU(df, part.scales + j % N * kLanes)));
  };
#pragma GCC unroll 8
  for (int r = 0; r < R; r += 2) {
    const int next = r + 1 < R ? r + 1 : r;
    StoreTwoRows(rounded(r, 0), rounded(r, 1), rounded(next, 0), rounded(next, 1), part.zero, part.width,
                 out + r * part.out_row, out + next * part.out_row);
  }
}

/// A panel by at least Tiles::kFewestRows rows. `accumulators` holds those of Tiles::kRowsPassing.
template <class Tiles>
void MultiplyBlock(const PackedWeightsS8& packed, const PaddedRowsU8& rows, int64_t b, const OutputStage& store,
                   int32_t* accumulators, BlockPrefetch& prefetch) {
  const auto block = static_cast<size_t>(b);
  const int64_t channel = b * kWidth, width = std::min<int64_t>(kWidth, packed.n - channel), records = packed.records();
  const int64_t parts = std::max<int64_t>(CeilDiv(packed.block_bytes, Tiles::kStayingBytes), 1);
  const int64_t step = std::max<int64_t>(CeilDiv(packed.segments, parts), 1);
  const PartFn multiply = Tiles::Find(packed.depth, width <= kLanes, store.kind);
  const uint8_t* weights = Bytes(packed.values) + b * packed.block_bytes;
  Part part{};
  part.row = rows.row;
  part.extra_groups = packed.extra_group.data() + packed.extra_begin[block];
  part.extras = Bytes(packed.extras) + packed.extra_begin[block] * kRecord;
  part.extra_count = packed.extra_begin[block + 1] - packed.extra_begin[block];
  part.add = store.add + channel;
  part.weight_zeros = store.weight_zeros == nullptr ? nullptr : store.weight_zeros + channel;
  part.scales = store.scales == nullptr ? nullptr : store.scales + channel;
  part.bias = store.bias == nullptr ? nullptr : store.bias + channel;
  part.zero = store.zero;
  part.accumulators = accumulators;
  part.out_row = store.row;
  part.width = width;
  const int64_t together = step < packed.segments ? Tiles::kRowsPassing : rows.count;
  for (int64_t m = 0; m < rows.count; m += together) {
    const int64_t first = std::min(m, std::max<int64_t>(rows.count - Tiles::kFewestRows, 0));  // the last may be too few
    part.count = std::min(together, rows.count - first);
    part.whole_rows = rows.data + first * rows.row;
    part.row_sums = part.weight_zeros == nullptr ? nullptr : store.row_sums + first;
    part.out = static_cast<uint8_t*>(store.data) + (first * store.row + channel) * store.size();
    for (int64_t s = 0; s == 0 || s < packed.segments; s += step) {
      part.segments = std::min(step, packed.segments - s);
      part.first = s == 0;
      part.last = s + step >= packed.segments;
      part.weights = weights + s * records * kRecord;
      part.rows = part.whole_rows + s * 4 * packed.depth;
      multiply(part, prefetch);
    }
  }
}

template <class Tiles>
void MultiplyPaddedRowsBy(const PackedWeightsS8& packed, const PaddedRowsU8& rows, int64_t b0, int64_t b1,
                          const OutputStage& store) {
  const WorkArray<int32_t> accumulators(Tiles::kRowsPassing * kWidth);
  if (rows.count < Tiles::kFewestRows) {  // a tile of one row, again and again
    OutputStage single = store;
    single.row = 0;
    BlockPrefetch none(0, 1);
    int32_t row_sums[Tiles::kFewestRows];
    for (int64_t m = 0; m < rows.count; ++m) {
      if (store.weight_zeros != nullptr) std::fill_n(row_sums, Tiles::kFewestRows, store.row_sums[m]);
      single.row_sums = row_sums;
      single.data = static_cast<uint8_t*>(store.data) + m * store.row;
      for (int64_t b = b0; b < b1; ++b)
        MultiplyBlock<Tiles>(packed, {rows.data + m * rows.row, 0, Tiles::kFewestRows}, b, single, accumulators, none);
    }
    return;
  }
  BlockPrefetch prefetch(packed.block_bytes, CeilDiv(rows.count, kWideRows) * Tiles::AskingTimes(packed.segments));
  for (int64_t b = b0; b < b1; ++b) {
    if (b + 1 < b1) prefetch.Begin(Bytes(packed.values) + (b + 1) * packed.block_bytes);
    MultiplyBlock<Tiles>(packed, rows, b, store, accumulators, prefetch);
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
