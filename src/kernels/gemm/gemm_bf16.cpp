#include "kernels/gemm/gemm_bf16.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_bf16.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "base/rounding.h"
#include "kernels/elementwise/activate-inl.h"
#include "kernels/elementwise/convert.h"
#include "kernels/gemm/bf16_pairs-inl.h"
#include "kernels/gemm/choose.h"
#include "kernels/gemm/half_panel-inl.h"
#include "kernels/vector/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DPairs = hn::ScalableTag<uint32_t>;
using Pairs = hn::Vec<DPairs>;

constexpr int kLanes = static_cast<int>(HWY_LANES(float));
constexpr int kWidth = 2 * kLanes;                      // columns of a panel
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 12 : 4;  // of a tile; few where only tests come
constexpr int64_t kDepth = 768;                 // pairs of a panel at a time: 96 KiB of L2, which the processor reads ahead
constexpr int64_t kBlockBytes = 256 << 10;      // of A, in the second cache while B passes
constexpr int64_t kLeastBlockRows = 8 * kRows;  // so that B does not pass too often

/// A tile's way to C.
struct TileOut {
  float* c;
  int64_t c_row;
  int64_t width;  // columns that C has
  float alpha;
  bool add;  // to what C holds
  Activation<float> activation;
  const float* row_bias;  // of the tile's first row; null: none
  const float* bias;      // of its first column; null: none
  const float* residual;  // rows as C's; null: none
};

HWY_INLINE Pairs Broadcast(const BFloat16* from) {
  uint32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  return hn::Set(DPairs(), pair);
}

/// A tile whose columns end before its vectors do, from `tile`, to C.
HWY_NOINLINE void StoreEdge(float* tile, int rows, const TileOut& out) {
  const D d;
  for (int r = 0; r < rows; ++r, tile += kWidth) {
    float* c = out.c + r * out.c_row;
    for (int64_t j = 0; j < out.width; ++j) {
      tile[j] *= out.alpha;
      if (out.add) tile[j] += c[j];
      if (out.row_bias != nullptr) tile[j] += out.row_bias[r];
      if (out.bias != nullptr) tile[j] += out.bias[j];
      if (out.residual != nullptr) tile[j] += out.residual[r * out.c_row + j];
    }
    for (int j = 0; j < kWidth && out.activation; j += kLanes) {
      hn::StoreU(Activate(d, hn::LoadU(d, tile + j), out.activation), d, tile + j);
    }
    std::copy_n(tile, out.width, c);
  }
}

/// f(accumulator, r, j) replaces each accumulator.
template <int R, class F>
HWY_INLINE void ForEachAccumulator(V (&acc)[R][2], F&& f) {
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    acc[r][0] = f(acc[r][0], r, 0);
    acc[r][1] = f(acc[r][1], r, kLanes);
  }
}

template <int R>
HWY_INLINE void Store(V (&acc)[R][2], const TileOut& out) {
  const D d;
  if (out.width < kWidth) {
    HWY_ALIGN float tile[R * kWidth];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      hn::Store(acc[r][0], d, tile + r * kWidth);
      hn::Store(acc[r][1], d, tile + r * kWidth + kLanes);
    }
    return StoreEdge(tile, R, out);
  }
  if (out.alpha != 1) ForEachAccumulator(acc, [&](V sum, int, int) { return hn::Mul(sum, hn::Set(d, out.alpha)); });
  if (out.add)
    ForEachAccumulator(acc, [&](V sum, int r, int j) { return hn::Add(sum, hn::LoadU(d, out.c + r * out.c_row + j)); });
  if (out.row_bias != nullptr)
    ForEachAccumulator(acc, [&](V sum, int r, int) { return hn::Add(sum, hn::Set(d, out.row_bias[r])); });
  if (out.bias != nullptr)
    ForEachAccumulator(acc, [&](V sum, int, int j) { return hn::Add(sum, hn::LoadU(d, out.bias + j)); });
  if (out.residual != nullptr)
    ForEachAccumulator(acc,
                       [&](V sum, int r, int j) { return hn::Add(sum, hn::LoadU(d, out.residual + r * out.c_row + j)); });
  if (out.activation) ForEachAccumulator(acc, [&](V sum, int, int) { return Activate(d, sum, out.activation); });
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    hn::StoreU(acc[r][0], d, out.c + r * out.c_row);
    hn::StoreU(acc[r][1], d, out.c + r * out.c_row + kLanes);
  }
}

/// Rows of A: every third has a pointer; registers with once and twice their distance reach the others.
template <int R>
struct RowsOf {
  const BFloat16* third[(R + 2) / 3];
  int64_t row;

  HWY_INLINE RowsOf(const BFloat16* a, int64_t a_row) : row(a_row) {
#pragma GCC unroll 4
    for (int i = 0; i < (R + 2) / 3; ++i) third[i] = a + 3 * i * a_row;
  }
  HWY_INLINE const BFloat16* At(int r) const { return third[r / 3] + r % 3 * row; }
  HWY_INLINE void Advance(int64_t pairs) {
#pragma GCC unroll 4
    for (int i = 0; i < (R + 2) / 3; ++i) third[i] += 2 * pairs;
  }
};

/// sums += A * B of one pair in k, `p` elements after the start of the rows.
template <int R, class Product>
HWY_INLINE void AddPair(V (&acc)[R][2], const RowsOf<R>& a, int p, const BFloat16* b) {
  const auto* columns = reinterpret_cast<const uint32_t*>(b) + p * kWidth;
  const Pairs left = hn::LoadU(DPairs(), columns), right = hn::LoadU(DPairs(), columns + kLanes);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const Pairs row = Broadcast(a.At(r) + 2 * p);
    acc[r][0] = Product().Add(acc[r][0], row, left);
    acc[r][1] = Product().Add(acc[r][1], row, right);
  }
}

template <class Product, int R>
void Tile(const BFloat16* a, int64_t a_row, const BFloat16* b, int64_t pairs, const TileOut& out, BlockPrefetch& ahead) {
  // Few rows leave too few chains of additions to hide their latency: several steps in k at once.
  constexpr int kSteps = R >= 6 ? 1 : R >= 3 ? 2 : 4;
  V acc[kSteps][R][2];
#pragma GCC unroll 4
  for (int s = 0; s < kSteps; ++s) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) acc[s][r][0] = acc[s][r][1] = hn::Zero(D());
  }
  RowsOf<R> rows(a, a_row);
  for (int64_t begin = 0; begin < pairs; begin += kAskingSteps) {
    const int64_t end = std::min(pairs, begin + kAskingSteps);
    ahead.Continue();
    int64_t p = begin;
    for (; p + kSteps <= end; p += kSteps, b += 2 * kSteps * kWidth) {
#pragma GCC unroll 4
      for (int s = 0; s < kSteps; ++s) AddPair<R, Product>(acc[s], rows, s, b);
      rows.Advance(kSteps);
    }
    for (; kSteps > 1 && p < end; ++p, b += 2 * kWidth) {
      AddPair<R, Product>(acc[0], rows, 0, b);
      rows.Advance(1);
    }
  }
#pragma GCC unroll 4
  for (int s = 1; s < kSteps; ++s) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      acc[0][r][0] = hn::Add(acc[0][r][0], acc[s][r][0]);
      acc[0][r][1] = hn::Add(acc[0][r][1], acc[s][r][1]);
    }
  }
  Store(acc[0], out);
}

using TileFn = void (*)(const BFloat16*, int64_t, const BFloat16*, int64_t, const TileOut&, BlockPrefetch&);

template <class Product, size_t... R>
TileFn TileOfRows(std::index_sequence<R...>, int64_t rows) {
  static constexpr TileFn kTiles[] = {Tile<Product, static_cast<int>(R) + 1>...};
  return kTiles[rows - 1];
}

HWY_INLINE const BFloat16* PackedPairs(const GemmProblem<float>& args) {
  return static_cast<const BFloat16*>(args.rhs.packed);
}

/// Elements of a packed B's column.
HWY_INLINE int64_t PanelColumn(const GemmProblem<float>& args) {
  return PairedSize(args.rhs.packed_k == 0 ? args.k : args.rhs.packed_k);
}

/// Rows [m0, m1) of one panel, tiles as alike in height as can be. `depth` pairs at a time.
template <class Product>
void MultiplyPanel(const GemmProblem<float>& args, int64_t m0, int64_t m1, int64_t n, int64_t n1, int64_t depth,
                   BlockPrefetch& prefetch) {
  const int64_t pairs = CeilDiv(args.k, 2), width = std::min<int64_t>(kWidth, n1 - n);
  const int64_t a_row = args.lhs.row == 0 ? 2 * pairs : args.lhs.row, b_column = PanelColumn(args);
  const int64_t height = CeilDiv(m1 - m0, CeilDiv(m1 - m0, kRows));
  for (int64_t p = 0; p == 0 || p < pairs; p += depth) {
    CancellationPoint();
    const int64_t count = std::min(depth, pairs - p);
    const Epilogue<float>& epilogue = args.epilogue;
    TileOut out{};
    out.c_row = args.out.row;
    out.width = width;
    out.alpha = args.alpha;
    out.add = args.accumulate || p > 0;
    const bool last = p + count >= pairs;
    if (last) out.activation = epilogue.activation;
    if (last && epilogue.col_bias() != nullptr) out.bias = epilogue.col_bias() + n;
    for (int64_t m = m0; m < m1; m += height) {
      const int64_t at = m * args.out.row + n;
      out.c = args.out.data + at;
      if (last && epilogue.row_bias() != nullptr) out.row_bias = epilogue.row_bias() + m;
      if (last && epilogue.residual != nullptr) out.residual = epilogue.residual + at;
      const TileFn tile = TileOfRows<Product>(std::make_index_sequence<kRows>{}, std::min(height, m1 - m));
      tile(args.lhs.pairs + m * a_row + 2 * p, a_row, PackedPairs(args) + n * b_column + 2 * p * kWidth, count, out,
           prefetch);
    }
  }
}

template <class Product>
void Multiply(const GemmProblem<float>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  const int64_t pairs = std::max<int64_t>(CeilDiv(args.k, 2), 1);
  // Where one tile has all rows, B is a stream that the processor itself reads ahead; else panels are to stay near.
  const bool streams = m1 - m0 <= kRows;
  const int64_t depth = streams ? pairs : CeilDiv(pairs, CeilDiv(pairs, kDepth));
  const int64_t most = std::max(kBlockBytes / (4 * pairs), kLeastBlockRows),
                block = CeilDiv(m1 - m0, CeilDiv(m1 - m0, most));
  for (int64_t m = m0; m < m1; m += block) {
    const int64_t end = std::min(m1, m + block);
    BlockPrefetch prefetch(streams ? 0 : 4 * pairs * kWidth, CeilDiv(end - m, kRows) * CeilDiv(pairs, kAskingSteps));
    for (int64_t n = n0; n < n1; n += kWidth) {
      if (n + kWidth < n1) prefetch.Begin(PackedPairs(args) + (n + kWidth) * PanelColumn(args));
      MultiplyPanel<Product>(args, m, end, n, n1, depth, prefetch);
    }
  }
}

}  // namespace

/// Whole vectors.
void RoundPairs(const float* first, const float* second, int64_t count, BFloat16* out) {
  auto* pairs = reinterpret_cast<uint32_t*>(out);
  for (int64_t j = 0; j < count; j += kLanes) {
    const Pairs high = hn::And(RoundUpperHalf(hn::LoadU(D(), second + j)), hn::Set(DPairs(), 0xffff0000u));
    const Pairs low = hn::ShiftRight<16>(RoundUpperHalf(hn::LoadU(D(), first + j)));
    hn::StoreU(hn::Or(high, low), DPairs(), pairs + j);
  }
}

namespace {

// What rows of kernels.inc need.
using Avx512Bf16 = PairProduct;
using Emulated = EmulatedPairProduct;

template <class Product>
constexpr auto MultiplyIfPossible() -> decltype(GemmKernel<float>::multiply) {
  if constexpr (Product::kPossible) return Multiply<Product>;
  else return nullptr;
}

}  // namespace

#define TESSERA_GEMM_BF16(name, Product, Lhs, Rhs, Out, few, many, steps, format)     \
  {#name, PanelType::format,    HWY_TARGET == HWY_AVX3 ? many : few,          kWidth, \
   steps, Product::Available(), std::is_same_v<Product, EmulatedPairProduct>, MultiplyIfPossible<Product>()},
GemmKernelRows<float> KernelsOfPairs() {
  static const GemmKernel<float> kernels[] = {
#include "kernels/gemm/kernels.inc"
  };
  return kernels;
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(KernelsOfPairs);
HWY_EXPORT(RoundPairs);

GemmKernelRows<float> GemmKernelsBf16() { return HWY_DYNAMIC_DISPATCH(KernelsOfPairs)(); }

bool HasGemmBf16() { return FindGemmKernel(GemmKernelsBf16(), PanelType::kPairs) != nullptr; }

void RoundToPairs(const float* rows, int64_t count, int64_t k, BFloat16* out) {
  if (k % 2 == 0) return ConvertFromFloat(rows, out, count * k);
  for (int64_t i = 0; i < count; ++i, rows += k, out += k + 1) {
    ConvertFromFloat(rows, out, k);
    out[k] = BFloat16::FromBits(0);
  }
}

void RoundToPairs(ThreadPool& threads, const float* rows, int64_t count, int64_t k, BFloat16* out) {
  const int64_t row = PairedSize(k);
  threads.ParallelFor(count, static_cast<double>(row) * 0.1, [&](int64_t begin, int64_t end) {
    RoundToPairs(rows + begin * k, end - begin, k, out + begin * row);
  });
}

size_t PackedGemmBf16Size(int64_t k, int64_t n) { return 2 * PackedGemmBSize<float>(CeilDiv(k, 2), n); }

namespace {

constexpr int64_t kTogether = 256;

/// At most kTogether numbers at any address.
template <class S>
void ReadLine(const S* from, int64_t count, float* to) {
  S values[kTogether];
  std::memcpy(values, from, static_cast<size_t>(count) * sizeof(S));
  ConvertToFloat(values, to, count);
}

template <class S>
void RoundRow(const S* from, int64_t count, BFloat16* to) {
  float numbers[kTogether];
  for (int64_t i = 0; i < count; i += kTogether) {
    const int64_t some = std::min(kTogether, count - i);
    ReadLine(from + i, some, numbers);
    ConvertFromFloat(numbers, to + i, some);
  }
}

}  // namespace

template <class S>
void PackGemmBf16Panel(const S* b, int64_t row, bool transposed, int64_t k, int64_t width, BFloat16* packed) {
  const int64_t panel_width = GemmPanelWidth<float>(), pairs = CeilDiv(k, 2);
  if (transposed) {  // pairs are moved as floats are: panels of both have the same width
    std::vector<float> rounded(static_cast<size_t>(width * pairs));
    for (int64_t j = 0; j < width; ++j) RoundRow(b + j * row, k, reinterpret_cast<BFloat16*>(rounded.data() + j * pairs));
    return PackGemmPanel<float>(rounded.data(), 1, pairs, pairs, width, reinterpret_cast<float*>(packed));
  }
  float first[kTogether] = {}, second[kTogether] = {};
  for (int64_t p = 0; p < k; p += 2, packed += 2 * panel_width) {
    ReadLine(b + p * row, width, first);
    if (p + 1 < k) ReadLine(b + (p + 1) * row, width, second);
    else std::fill_n(second, width, 0.0f);
    HWY_DYNAMIC_DISPATCH(RoundPairs)(first, second, panel_width, packed);
  }
}
template void PackGemmBf16Panel(const float*, int64_t, bool, int64_t, int64_t, BFloat16*);
template void PackGemmBf16Panel(const Float16*, int64_t, bool, int64_t, int64_t, BFloat16*);
template void PackGemmBf16Panel(const BFloat16*, int64_t, bool, int64_t, int64_t, BFloat16*);

void GemmBf16(ThreadPool& threads, const GemmProblem<float>& args) {
  GemmBf16(*FindGemmKernel(GemmKernelsBf16(), PanelType::kPairs), threads, args);
}

void GemmBf16(const GemmKernel<float>& kernel, ThreadPool& threads, const GemmProblem<float>& args) {
  if (args.m <= 0 || args.n <= 0) return;
  const GemmChoice choice = ChooseGemmBf16(args, kernel.rows, kernel.columns, threads.num_threads());
  const GemmGrid& grid = choice.grid;
  if (grid.tasks() == 1) return kernel.multiply(args, 0, args.m, 0, args.n);
  threads.ParallelFor(grid.tasks(), choice.task_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t m = i / grid.column_tasks * grid.rows, n = i % grid.column_tasks * grid.columns;
      kernel.multiply(args, m, std::min(args.m, m + grid.rows), n, std::min(args.n, n + grid.columns));
    }
  });
}

}  // namespace tessera::cpu
#endif
