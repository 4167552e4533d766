// GEMMs of one row or of few columns, bound by the reading of the matrix. Part of gemm-inl.h.

#include "base/cancellation.h"
#include "base/work_array.h"
#include "kernels/gemm/gemm_tile-inl.h"
#include "kernels/vector/load_first-inl.h"

#if defined(TESSERA_GEMM_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GEMM_VECTOR_INL_H
#undef TESSERA_GEMM_VECTOR_INL_H
#else
#define TESSERA_GEMM_VECTOR_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

HWY_INLINE T FinishOne(const GemmProblem<T>& args, T sum, int64_t column) {
  const Epilogue<T>& epilogue = args.epilogue;
  T v = args.alpha * sum;
  if (args.accumulate) v += args.out.data[column];
  if (epilogue.bias != nullptr) v += epilogue.bias[epilogue.channels_are_rows ? 0 : column];
  if (epilogue.residual != nullptr) v += epilogue.residual[column];
  if (!epilogue.activation) return v;
  const D full;
  return hn::GetLane(Activate(full, hn::Set(full, v), epilogue.activation));
}

constexpr double kReadNs = 0.1;                                                 // of an element of B, from afar
constexpr int64_t kLongRow = int64_t{1} << 20, kLongColumn = int64_t{1} << 16;  // steps in k between cancellation points

HWY_INLINE bool HasEpilogue(const GemmProblem<T>& args) {
  const Epilogue<T>& epilogue = args.epilogue;
  return args.accumulate || epilogue.bias != nullptr || epilogue.residual != nullptr || epilogue.activation;
}

/// The sum of a vector's blocks of 128 bits.
template <class DV>
HWY_INLINE auto SumOfBlocks(DV /*d*/, hn::Vec<DV> v) {
  if constexpr (hn::MaxLanes(DV()) * sizeof(T) <= 16) {
    return v;
  } else {
    const hn::Half<DV> half;
    return SumOfBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// Stores the sums of four vectors' lanes: in a third of the steps of four single sums.
HWY_INLINE void StoreSums(D d, V a, V b, V c, V e, T* HWY_RESTRICT to) {
  const auto pairs = [d](V x, V y) HWY_ATTR { return hn::Add(hn::InterleaveLower(d, x, y), hn::InterleaveUpper(d, x, y)); };
  const V ab = pairs(a, b), ce = pairs(c, e);  // by blocks
  const hn::FixedTag<T, 16 / sizeof(T)> block;
  if constexpr (sizeof(T) == sizeof(double)) {
    hn::StoreU(SumOfBlocks(d, ab), block, to);
    hn::StoreU(SumOfBlocks(d, ce), block, to + 2);
  } else {
    const hn::Repartition<uint64_t, D> wide;
    const auto x = hn::BitCast(wide, ab), y = hn::BitCast(wide, ce);
    const V all = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, x, y)), hn::BitCast(d, hn::InterleaveUpper(wide, x, y)));
    hn::StoreU(SumOfBlocks(d, all), block, to);
  }
}

/// Of k elements each.
inline T Dot(const T* x, const T* b, int64_t k) {
  const D d;
  V s[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t p = 0;
  while (p + 4 * kLanes <= k) {
    if (p != 0) CancellationPoint();
    for (const int64_t end = std::min(k, p + kLongRow); p + 4 * kLanes <= end; p += 4 * kLanes) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        s[u] = hn::MulAdd(hn::LoadU(d, x + p + u * kLanes), hn::LoadU(d, b + p + u * kLanes), s[u]);
      }
    }
  }
  for (; p < k; p += kLanes) {
    const int64_t left = std::min<int64_t>(k - p, kLanes);
    s[0] = hn::MulAdd(LoadFirst(d, x + p, left), LoadFirst(d, b + p, left), s[0]);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s[0], s[1]), hn::Add(s[2], s[3]))));
}

/// One row times transposed B: a dot product per column, four columns at a time so that x is loaded once.
void Dots(const GemmProblem<T>& args, int64_t n0, int64_t n1) {
  const D d;
  const int64_t k = args.k;
  int64_t n = n0;
  PacedCancellationPoint look(kReadNs);
  const bool finishes = args.alpha != T{1} || HasEpilogue(args);
  for (; n + 4 <= n1; n += 4) {
    look.Pass(4 * k);
    const T* b0 = args.rhs.data + n * args.rhs.col;
    const T* b1 = b0 + args.rhs.col;
    const T* b2 = b1 + args.rhs.col;
    const T* b3 = b2 + args.rhs.col;
    V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
    int64_t p = 0;
    for (; p + 2 * kLanes <= k; p += 2 * kLanes) {
      const V x0 = hn::LoadU(d, args.lhs.data + p);
      const V x1 = hn::LoadU(d, args.lhs.data + p + kLanes);
      s0 = hn::MulAdd(x0, hn::LoadU(d, b0 + p), s0);
      s1 = hn::MulAdd(x0, hn::LoadU(d, b1 + p), s1);
      s2 = hn::MulAdd(x0, hn::LoadU(d, b2 + p), s2);
      s3 = hn::MulAdd(x0, hn::LoadU(d, b3 + p), s3);
      t0 = hn::MulAdd(x1, hn::LoadU(d, b0 + p + kLanes), t0);
      t1 = hn::MulAdd(x1, hn::LoadU(d, b1 + p + kLanes), t1);
      t2 = hn::MulAdd(x1, hn::LoadU(d, b2 + p + kLanes), t2);
      t3 = hn::MulAdd(x1, hn::LoadU(d, b3 + p + kLanes), t3);
    }
    if (p + kLanes <= k) {
      const V x = hn::LoadU(d, args.lhs.data + p);
      s0 = hn::MulAdd(x, hn::LoadU(d, b0 + p), s0);
      s1 = hn::MulAdd(x, hn::LoadU(d, b1 + p), s1);
      s2 = hn::MulAdd(x, hn::LoadU(d, b2 + p), s2);
      s3 = hn::MulAdd(x, hn::LoadU(d, b3 + p), s3);
      p += kLanes;
    }
    if (p < k) {
      const int64_t left = k - p;
      const V x = LoadFirst(d, args.lhs.data + p, left);
      t0 = hn::MulAdd(x, LoadFirst(d, b0 + p, left), t0);
      t1 = hn::MulAdd(x, LoadFirst(d, b1 + p, left), t1);
      t2 = hn::MulAdd(x, LoadFirst(d, b2 + p, left), t2);
      t3 = hn::MulAdd(x, LoadFirst(d, b3 + p, left), t3);
    }
    T sums[4];
    StoreSums(d, hn::Add(s0, t0), hn::Add(s1, t1), hn::Add(s2, t2), hn::Add(s3, t3), finishes ? sums : args.out.data + n);
    for (int i = 0; finishes && i < 4; ++i) args.out.data[n + i] = FinishOne(args, sums[i], n + i);
  }
  for (; n < n1; ++n) {
    look.Pass(k);
    args.out.data[n] = FinishOne(args, Dot(args.lhs.data, args.rhs.data + n * args.rhs.col, k), n);
  }
}

/// kVectors vectors of columns from `n` on, down all of k; kPartial: only the first `columns` of one. Each addition waits
/// for the one before, so that few vectors get several accumulators each.
template <int kVectors, bool kPartial = false>
HWY_INLINE void RowTimesColumns(const GemmProblem<T>& args, int64_t n, [[maybe_unused]] int64_t columns = kLanes) {
  static_assert(kVectors == 1 || !kPartial);
  constexpr int kAccumulators = kVectors >= 4 ? 1 : 4 / kVectors;
  const D d;
  V acc[kAccumulators][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kAccumulators * kVectors; ++i) acc[i / kVectors][i % kVectors] = hn::Zero(d);
  const T* b = args.rhs.data + n;
  const auto add = [&](int64_t p, V* acc) HWY_ATTR {
    const V x = hn::Set(d, args.lhs.data[p * args.lhs.k]);
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      if constexpr (kPartial) {
        acc[j] = hn::MulAdd(x, LoadFirst(d, b, columns), acc[j]);
      } else {
        acc[j] = hn::MulAdd(x, hn::LoadU(d, b + j * kLanes), acc[j]);
      }
    }
    b += args.rhs.k;
  };
  int64_t p = 0;
  while (p + kAccumulators <= args.k) {
    if (p != 0) CancellationPoint();
    for (const int64_t end = std::min(args.k, p + kLongColumn); p + kAccumulators <= end; p += kAccumulators) {
#pragma GCC unroll 4
      for (int i = 0; i < kAccumulators; ++i) add(p + i, acc[i]);
    }
  }
  for (; p < args.k; ++p) add(p, acc[0]);
#pragma GCC unroll 8
  for (int j = 0; j < kVectors; ++j) {
    V sum = acc[0][j];
#pragma GCC unroll 4
    for (int i = 1; i < kAccumulators; ++i) sum = hn::Add(sum, acc[i][j]);
    const int64_t column = n + j * kLanes;
    if constexpr (kPartial) {
      HWY_ALIGN T lanes[kLanes];
      hn::Store(sum, d, lanes);
      for (int64_t i = 0; i < columns; ++i) args.out.data[column + i] = FinishOne(args, lanes[i], column + i);
    } else {
      const TileOut out{args.out.data + column,
                        args.out.row,
                        args.alpha,
                        args.accumulate,
                        true,
                        args.epilogue.activation,
                        args.epilogue.row_bias(),
                        args.epilogue.col_bias() == nullptr ? nullptr : args.epilogue.col_bias() + column,
                        args.epilogue.residual == nullptr ? nullptr : args.epilogue.residual + column};
      V one[1][1] = {{sum}};
      StoreTile<1, 1>(d, one, out);
    }
  }
}

/// One row times row-major B: eight vectors of columns at a time.
void RowTimesMatrix(const GemmProblem<T>& args, int64_t n0, int64_t n1) {
  int64_t n = n0;
  for (; n + 8 * kLanes <= n1; n += 8 * kLanes) RowTimesColumns<8>(args, n);
  for (; n + 4 * kLanes <= n1; n += 4 * kLanes) RowTimesColumns<4>(args, n);
  for (; n + 2 * kLanes <= n1; n += 2 * kLanes) RowTimesColumns<2>(args, n);
  for (; n + kLanes <= n1; n += kLanes) RowTimesColumns<1>(args, n);
  if (n < n1) RowTimesColumns<1, true>(args, n, n1 - n);
}

// --- few columns: each element of a tile is a dot product, where columns of a panel would leave most lanes empty
// ---------------

constexpr int kFewColumns = 4;
constexpr int64_t kFewestDots = 16, kLeastDepthOfDots = 8 * kLanes,
                  kMostDepthOfDots = (16 << 10) / static_cast<int64_t>(sizeof(T));

HWY_INLINE bool TakesFewColumns(const GemmProblem<T>& args, int64_t rows, int64_t columns) {
  return args.rhs.packed != nullptr && args.lhs.k == 1 && args.rhs.packed_k == 0 && columns <= kFewColumns &&
         rows >= kFewestDots && args.k >= kLeastDepthOfDots && args.k <= kMostDepthOfDots;
}

/// R rows by N columns, which are args.k apart at `b`.
template <int R, int N>
HWY_INLINE void DotTile(const GemmProblem<T>& args, const T* HWY_RESTRICT b, int64_t m, int64_t n) {
  const D d;
  const T* a = args.lhs.data + m * args.lhs.row;
  V acc[R][N];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) acc[r][j] = hn::Zero(d);
  }
  const auto add = [&](auto load) HWY_ATTR {
    V columns[N];
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) columns[j] = load(b + j * args.k);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const V row = load(a + r * args.lhs.row);
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) acc[r][j] = hn::MulAdd(row, columns[j], acc[r][j]);
    }
  };
  int64_t p = 0;
  for (; p + kLanes <= args.k; p += kLanes) add([&](const T* from) HWY_ATTR { return hn::LoadU(d, from + p); });
  if (p < args.k) add([&](const T* from) HWY_ATTR { return LoadFirst(d, from + p, args.k - p); });
  GemmProblem<T> row = args;
  for (int r = 0; r < R; ++r) {
    row.out.data = args.out.data + (m + r) * args.out.row;
    row.epilogue = args.epilogue.From(args.epilogue.channels_are_rows ? m + r : 0, (m + r) * args.out.row);
    for (int j = 0; j < N; ++j) row.out.data[n + j] = FinishOne(row, hn::GetLane(hn::SumOfLanes(d, acc[r][j])), n + j);
  }
}

/// Rows by N columns from column `n` on, the first of a panel.
template <int N>
void DotsOfColumns(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n, const T* panel) {
  const WorkArray<T> columns(static_cast<size_t>(N * args.k));
  for (int64_t p = 0; p < args.k; ++p) {
    for (int j = 0; j < N; ++j) columns[j * args.k + p] = panel[p * kWidth + j];
  }
  int64_t m = m0;
  PacedCancellationPoint look(kReadNs);
  for (; m + 4 <= m1; m += 4) {
    look.Pass(4 * args.k);
    DotTile<4, N>(args, columns, m, n);
  }
  for (; m < m1; ++m) DotTile<1, N>(args, columns, m, n);
}

void FewColumns(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n, int64_t columns) {
  const T* panel = static_cast<const T*>(args.rhs.packed) + n * args.k;
  switch (columns) {
    case 1: return DotsOfColumns<1>(args, m0, m1, n, panel);
    case 2: return DotsOfColumns<2>(args, m0, m1, n, panel);
    case 3: return DotsOfColumns<3>(args, m0, m1, n, panel);
    default: return DotsOfColumns<4>(args, m0, m1, n, panel);
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
