// GEMM of rows of unsigned bytes with constant signed bytes, by multiply-adds of pairs, and row sums.

#include "kernels/gemm/rows_u8s8.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/rows_u8s8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/gemm/pairs_u8s8-inl.h"
#include "kernels/gemm/rows_u8s8-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

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

/// D groups that are accumulated in 16 bits.
template <int D, int N>
HWY_INLINE void AddSegment(const uint8_t* left, int64_t row, const uint8_t* right, V32 (&acc)[kRows][N]) {
  const D8 d8;
  const D16 d16;
  V16 acc16[kRows][N];
#pragma GCC unroll 2
  for (int j = 0; j < N; ++j) {
    const V16 offset = hn::BitCast(d16, hn::LoadU(d8, right + j * 4 * kLanes));
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) acc16[r][j] = offset;
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
        V16 sum = hn::Add(acc16[r][j], MultiplyPairs(a, b[j]));
        Pin(sum);
        acc16[r][j] = sum;
        // Here, as accumulators that another loop widens would go through memory.
        if (d == D - 1) acc[r][j] = hn::Add(acc[r][j], Widen(sum, one));
      }
    }
  }
}

/// kRows rows from `m`.
template <int D, int N, class T>
HWY_INLINE void Tile(const Part& part, int64_t m, int32_t* accumulators) {
  const int64_t row = part.row;
  V32 acc[kRows][N];
  StartTile(part, m, accumulators, acc);
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
  // The parameters of the output stage are read again for each tile: in registers, they would spill accumulators.
  asm volatile("" ::: "memory");
  if (!part.last) return StoreAccumulators(acc, accumulators);
  for (int64_t e = 0; e < part.extra_count; ++e)
    AddGroup(part.whole_rows + m * row + 4 * part.extra_groups[e], row, part.extras + e * kRecord, acc);
  StoreTile(part, acc, static_cast<T*>(part.out) + m * part.out_row);
}

/// The last tile overlaps the one before where rows are left over.
template <int D, int N, class T>
void Tiles(const Part& part, BlockPrefetch& prefetch) {
  for (int64_t m = 0; m < part.count; m += kRows) {
    prefetch.Continue();
    Tile<D, N, T>(part, std::min(m, part.count - kRows), part.accumulators + m * kWidth);
  }
}

struct PairPaddedTiles {
  static constexpr int64_t kFewestRows = kRows;
  static constexpr int64_t kRowsPassing = 16 * kRows;  // when accumulators of a part of k are kept
  static constexpr int64_t kStayingBytes = kStayingInL1;

  static int64_t AskingTimes(int64_t) { return 1; }

  static PartFn Find(int64_t depth, bool narrow, OutputStage::Kind kind) {
    const bool is_signed = kind == OutputStage::kInt8;
    if (narrow) return is_signed ? Of<1, int8_t>(depth) : Of<1, uint8_t>(depth);
    return is_signed ? Of<2, int8_t>(depth) : Of<2, uint8_t>(depth);
  }

 private:
  template <int N, class T>
  static PartFn Of(int64_t depth) {
    constexpr PartFn kTiles[] = {Tiles<1, N, T>, Tiles<2, N, T>, Tiles<3, N, T>, Tiles<4, N, T>};
    return kTiles[depth - 1];
  }
};

void SumRows(const PaddedRowsU8& rows, int32_t* sums) {
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

PaddedRowsFn PairRows() { return MultiplyPaddedRowsBy<PairPaddedTiles>; }

}  // namespace

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(PairRows);
HWY_EXPORT(SumRows);

PaddedRowsFn PairPaddedRows() { return HWY_DYNAMIC_DISPATCH(PairRows)(); }

int64_t PaddedRowsWidth() { return KernelsU8S8().available ? KernelsU8S8().width : 0; }

void SumPaddedRows(const PaddedRowsU8& rows, int32_t* sums) { HWY_DYNAMIC_DISPATCH(SumRows)(rows, sums); }

}  // namespace tessera::cpu
#endif
