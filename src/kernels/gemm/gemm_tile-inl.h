// The register tile of the GEMM for one instruction set, and how it is stored to C. Part of gemm-inl.h.

#include <hwy/cache_control.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/rounding.h"
#include "kernels/elementwise/activate-inl.h"
#include "kernels/gemm/half_panel-inl.h"
#include "kernels/vector/copy_part-inl.h"
#include "kernels/vector/pin-inl.h"
#include "kernels/vector/prefetch.h"

#if defined(TESSERA_GEMM_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GEMM_TILE_INL_H
#undef TESSERA_GEMM_TILE_INL_H
#else
#define TESSERA_GEMM_TILE_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using T = GEMM_T;
using D = hn::ScalableTag<T>;
using V = hn::Vec<D>;

constexpr size_t kLineBytes = 64;
constexpr int kLanes = static_cast<int>(HWY_LANES(T));
constexpr int kWidth = 2 * kLanes;                      // columns of a panel
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 12 : 6;  // rows of a register tile
constexpr int kUnroll = 4;                              // steps in k
// Rows of B per visit: a panel of it stays in L1. Wide vectors read it from L2, in order, which the processor prefetches:
// adding to C costs them more.
constexpr int64_t kDepth = HWY_TARGET == HWY_AVX3 ? sizeof(T) == 4 ? 384 : 192 : sizeof(T) == 4 ? 320 : 160;
constexpr int64_t kMostDepth = HWY_TARGET == HWY_AVX3 && sizeof(T) == 4 ? 768 : kDepth;  // where A is copied
constexpr int64_t kWidenedDepth = HWY_TARGET == HWY_AVX3 ? 192 : kDepth;  // of 16 bits that become floats in L1
constexpr int64_t kColumns = 128;          // columns of B packed at a time: with kDepth, at most 192 KiB of L2
constexpr int64_t kBufferedColumns = 256;  // of C, where it is stored transposed
// Of A at a time, where it must be copied. More rows, where a lesser depth allows them, are fewer passes over B; in all at
// most 612 KiB of L2.
constexpr int64_t kCopiedRows = HWY_TARGET == HWY_AVX3 ? 216 : 132;
constexpr int64_t kMostCopied = std::max(204 * kMostDepth, kCopiedRows* kDepth);
// Beside a multiply-add. Where twice as many are done at once, what they wait for costs twice as much.
constexpr double kCopyCost = HWY_TARGET == HWY_AVX3 ? 22 : 11, kReadCost = HWY_TARGET == HWY_AVX3 ? 10 : 5;
constexpr int64_t kRowBlock = 192;  // rows of A per visit: with kDepth, at most 288 KiB of L2

/// One register tile's way to C.
struct TileOut {
  T* c;
  int64_t c_row;
  T alpha;
  bool add;   // C already holds a part of the result
  bool last;  // the epilogue, all that follows, applies
  Activation<T> activation;
  const T* row_bias;  // of this tile, as what follows
  const T* col_bias;
  const T* residual;
};

/// f(v, r, j) replaces each vector of a tile. One loop a step of the epilogue: a tile of twelve vectors then asks six
/// questions and not seventy.
template <int R, int N, class F>
HWY_INLINE void ForTile(V (&acc)[R][N], F&& f) {
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) acc[r][j] = f(acc[r][j], r, j);
  }
}

template <int R, int N>
HWY_INLINE void StoreTile(D d, V (&acc)[R][N], const TileOut& out) {
  const auto at = [&](const T* base, int r, int j) { return hn::LoadU(d, base + r * out.c_row + j * kLanes); };
  if (out.alpha != T{1}) {
    const V alpha = hn::Set(d, out.alpha);
    ForTile(acc, [&](V v, int, int) { return hn::Mul(v, alpha); });
  }
  if (out.add) ForTile(acc, [&](V v, int r, int j) { return hn::Add(v, at(out.c, r, j)); });
  if (out.last) {
    if (out.row_bias != nullptr) ForTile(acc, [&](V v, int r, int) { return hn::Add(v, hn::Set(d, out.row_bias[r])); });
    if (out.col_bias != nullptr) {
      ForTile(acc, [&](V v, int, int j) { return hn::Add(v, hn::LoadU(d, out.col_bias + j * kLanes)); });
    }
    if (out.residual != nullptr) ForTile(acc, [&](V v, int r, int j) { return hn::Add(v, at(out.residual, r, j)); });
    if (out.activation) ForTile(acc, [&](V v, int, int) { return Activate(d, v, out.activation); });
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) hn::StoreU(acc[r][j], d, out.c + r * out.c_row + j * kLanes);
  }
}

/// acc += A * B over k. Where the strides are constants (std::integral_constant) the addresses of four steps are too: a
/// tenth fewer instructions, which counts where another hardware thread shares the core.
template <int R, int N, class B, class RowStride, class AStride, class BStride>
HWY_INLINE void Accumulate(V (&acc)[R][N], const T* a, RowStride a_row, AStride a_k, const B* b, BStride b_k, int64_t k) {
  const D d;
#pragma GCC unroll kUnroll
  for (int64_t p = 0; p < k; ++p) {
    V bv[N];
    LoadColumns(d, b, bv);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const V av = hn::Set(d, a[r * a_row]);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) acc[r][j] = hn::MulAdd(av, bv[j], acc[r][j]);
    }
    a += a_k;
    b += b_k;
  }
}

template <int64_t N>
using Constant = std::integral_constant<int64_t, N>;

/// The same of few rows, whose chains of additions are too few to hide their latency: several k at once, one to each part.
template <int kParts, int R, int N, class B>
HWY_INLINE void AccumulateParts(V (&part)[kParts][R][N], const T* a, int64_t a_row, int64_t a_k, const B* b, int64_t b_k,
                                int64_t k) {
  const D d;
  int64_t p = 0;
  for (; p + kParts <= k; p += kParts) {
#pragma GCC unroll 4
    for (int u = 0; u < kParts; ++u) {
      V bv[N];
      LoadColumns(d, b + u * b_k, bv);
      // Pinned, else each row loads them again, and loads bound this loop; by themselves, as what is pinned in an array is
      // stored, too.
      V first = bv[0], last = bv[N - 1];
      Pin(first);
      if (N == 2) Pin(last);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V av = hn::Set(d, a[r * a_row + u * a_k]);
        part[u][r][0] = hn::MulAdd(av, first, part[u][r][0]);
        if (N == 2) part[u][r][N - 1] = hn::MulAdd(av, last, part[u][r][N - 1]);
      }
    }
    a += kParts * a_k;
    b += kParts * b_k;
  }
  Accumulate<R, N>(part[0], a, a_row, a_k, b, b_k, k - p);
}

/// How often a tile asks.
HWY_INLINE int64_t AskingTimes(int64_t k) { return CeilDiv(k, kAskingSteps); }

/// R rows by N vectors of columns; `a` rows are a_row apart, steps in k are a_k and b_k apart. `ahead` is what to
/// prefetch meanwhile; may be null. kAsks: C's cache lines too, which do not come in time for a shallow GEMM. kAlone: of a
/// GEMM with few rows; others are summed in one order, so that equal rows of A have equal results.
template <class B, int R, int N, bool kAsks = true, bool kAlone = false>
void MicroKernel(const T* a, int64_t a_row, int64_t a_k, const B* b, int64_t b_k, int64_t k, const TileOut& out,
                 BlockPrefetch* ahead) {
  const D d;
  constexpr int kParts = !kAlone || R * N >= 8 ? 1 : R * N >= 4 ? 2 : 4;
  V part[kParts][R][N];
#pragma GCC unroll 4
  for (int u = 0; u < kParts; ++u) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) part[u][r][j] = hn::Zero(d);
    }
  }
  if constexpr (kParts == 1 && kAsks) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      hwy::Prefetch(out.c + r * out.c_row);
      if (N * kLanes * sizeof(T) > kLineBytes) hwy::Prefetch(out.c + r * out.c_row + kLanes);
    }
  }
  const int64_t steps = ahead == nullptr ? k : kAskingSteps;
  for (int64_t left = k; left > 0; left -= steps, a += steps * a_k, b += steps * b_k) {
    const int64_t some = std::min(left, steps);
    if (ahead != nullptr) ahead->Continue();
    if constexpr (kParts > 1) {
      AccumulateParts(part, a, a_row, a_k, b, b_k, some);
    } else if (R == kRows && N == 2 && b_k == kWidth && a_k == kRows && a_row == 1) {
      Accumulate<R, N>(part[0], a, Constant<1>(), Constant<kRows>(), b, Constant<kWidth>(), some);
    } else if (R == kRows && N == 2 && b_k == kWidth && a_k == 1) {
      Accumulate<R, N>(part[0], a, a_row, Constant<1>(), b, Constant<kWidth>(), some);
    } else {
      Accumulate<R, N>(part[0], a, a_row, a_k, b, b_k, some);
    }
  }
#pragma GCC unroll 4
  for (int u = 1; u < kParts; ++u) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) part[0][r][j] = hn::Add(part[0][r][j], part[u][r][j]);
    }
  }
  StoreTile<R, N>(d, part[0], out);
}

/// Of panels of B: T, or of floats 16 bits.
template <class B>
using MicroKernelFn = void (*)(const T*, int64_t, int64_t, const B*, int64_t, int64_t, const TileOut&, BlockPrefetch*);

template <class B, int N, bool kAlone, size_t... R>
constexpr MicroKernelFn<B> KernelForRows(std::index_sequence<R...>, int64_t rows) {
  constexpr MicroKernelFn<B> kernels[] = {MicroKernel < B, static_cast<int>(R) + 1, N, true,
                                          kAlone && (static_cast<int>(R) + 1) * N<8>...};
  return kernels[rows - 1];
}

/// `alone`: all rows that there are.
template <class B>
MicroKernelFn<B> KernelFor(int64_t rows, int64_t width, bool alone) {
  constexpr auto kSequence = std::make_index_sequence<kRows>{};
  if (width <= kLanes)
    return alone ? KernelForRows<B, 1, true>(kSequence, rows) : KernelForRows<B, 1, false>(kSequence, rows);
  return alone ? KernelForRows<B, 2, true>(kSequence, rows) : KernelForRows<B, 2, false>(kSequence, rows);
}

/// The strides of A.
struct Rows {
  const T* a;
  int64_t row;   // from row to row of a tile
  int64_t k;     // from one step in k to the next
  int64_t tile;  // from tile to tile, a row
};

/// The tile at the right edge: C's columns end before the panel does, so it goes through a buffer. What stands there beside
/// C's columns is not written.
template <class B>
void EdgeTile(MicroKernelFn<B> kernel, const Rows& a, const B* b, int64_t b_k, int64_t k, int64_t rows, int64_t width,
              const TileOut& out, BlockPrefetch* ahead) {
  const D d;
  HWY_ALIGN T buffer[kRows * kWidth];
  HWY_ALIGN T residual[kRows * kWidth];
  HWY_ALIGN T col_bias[kWidth];
  TileOut inner = out;
  inner.c = buffer;
  inner.c_row = kWidth;
  const auto take = [&](const T* from, int64_t count, int64_t row, T* to) {
    std::fill_n(to, count * kWidth, T{0});
    CopyParts(d, width, count, from, row, to, kWidth);
    return to;
  };
  if (out.add) take(out.c, rows, out.c_row, buffer);
  if (out.last && out.residual != nullptr) inner.residual = take(out.residual, rows, out.c_row, residual);
  if (out.last && out.col_bias != nullptr) inner.col_bias = take(out.col_bias, 1, 0, col_bias);
  kernel(a.a, a.row, a.k, b, b_k, k, inner, ahead);
  CopyParts(d, width, rows, buffer, kWidth, out.c, out.c_row);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
