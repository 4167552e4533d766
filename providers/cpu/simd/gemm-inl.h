// Micro-kernels of the matrix product for one instruction set; included once per target by gemm_f32.cpp and gemm_f64.cpp,
// which define GEMM_T
// (the element type) and GEMM_KERNELS (the name of the table).

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "simd/activate-inl.h"
#include "simd/prefetch.h"

#if defined(TESSERA_GEMM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GEMM_INL_H
#undef TESSERA_GEMM_INL_H
#else
#define TESSERA_GEMM_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using T = GEMM_T;
using D = hn::ScalableTag<T>;
using V = hn::Vec<D>;

constexpr int kLanes = static_cast<int>(HWY_LANES(T));
constexpr int kWidth = 2 * kLanes;                        // columns of a panel
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 12 : 6;    // rows of a register tile
constexpr int64_t kDepth = sizeof(T) == 4 ? 320 : 160;    // rows of B per visit: a panel of it stays in L1
constexpr int64_t kColumns = 128;                         // columns of B packed at a time: with kDepth, 160 KiB of L2
constexpr int64_t kBufferedColumns = 256;                 // of C, where it is stored transposed
constexpr int64_t kCopiedRows = 132;                      // of A at a time, where it must be copied: 165 KiB
constexpr int64_t kRowBlock = 192;                        // rows of A per visit: with kDepth, 240 KiB of L2

/// One register tile's way to C.
struct TileOut {
  T* c;
  int64_t c_row;
  T alpha;
  bool add;   // C already holds a part of the sum
  bool last;  // the epilogue applies
  const GemmEpilogue<T>* epilogue;  // pointers moved to this tile
  const T* row_bias;
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
    if (out.epilogue->activation != GemmActivation::kNone) {
      ForTile(acc, [&](V v, int, int) { return Activate(d, v, *out.epilogue); });
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) hn::StoreU(acc[r][j], d, out.c + r * out.c_row + j * kLanes);
  }
}

/// R rows by N vectors of columns; `a` rows are a_row apart, steps in k are a_k and b_k apart.
template <int R, int N>
void MicroKernel(const T* a, int64_t a_row, int64_t a_k, const T* b, int64_t b_k, int64_t k, const TileOut& out) {
  const D d;
  // Few rows leave too few chains of additions to hide their latency: walk several k at once.
  constexpr int kUnroll = R * N >= 8 ? 1 : R * N >= 4 ? 2 : 4;
  V acc[R][N];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) acc[r][j] = hn::Zero(d);
  }
  int64_t p = 0;
  if constexpr (kUnroll == 1) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) hwy::Prefetch(out.c + r * out.c_row);
#pragma GCC unroll 2
    for (; p < k; ++p) {
      V bv[N];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) bv[j] = hn::LoadU(d, b + j * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V av = hn::Set(d, a[r * a_row]);
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) acc[r][j] = hn::MulAdd(av, bv[j], acc[r][j]);
      }
      a += a_k;
      b += b_k;
    }
  } else {
    V part[kUnroll][R][N];
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) part[u][r][j] = hn::Zero(d);
      }
    }
    for (; p + kUnroll <= k; p += kUnroll) {
#pragma GCC unroll 4
      for (int u = 0; u < kUnroll; ++u) {
        V bv[N];
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) bv[j] = hn::LoadU(d, b + u * b_k + j * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          const V av = hn::Set(d, a[r * a_row + u * a_k]);
#pragma GCC unroll 2
          for (int j = 0; j < N; ++j) part[u][r][j] = hn::MulAdd(av, bv[j], part[u][r][j]);
        }
      }
      a += kUnroll * a_k;
      b += kUnroll * b_k;
    }
    for (; p < k; ++p) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V av = hn::Set(d, a[r * a_row]);
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) part[0][r][j] = hn::MulAdd(av, hn::LoadU(d, b + j * kLanes), part[0][r][j]);
      }
      a += a_k;
      b += b_k;
    }
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) acc[r][j] = hn::Add(acc[r][j], part[u][r][j]);
      }
    }
  }
  StoreTile<R, N>(d, acc, out);
}

using MicroKernelFn = void (*)(const T*, int64_t, int64_t, const T*, int64_t, int64_t, const TileOut&);

template <int N, size_t... R>
constexpr MicroKernelFn KernelForRows(std::index_sequence<R...>, int64_t rows) {
  constexpr MicroKernelFn kernels[] = {MicroKernel<static_cast<int>(R) + 1, N>...};
  return kernels[rows - 1];
}

MicroKernelFn KernelFor(int64_t rows, int64_t width) {
  constexpr auto kSequence = std::make_index_sequence<kRows>{};
  return width <= kLanes ? KernelForRows<1>(kSequence, rows) : KernelForRows<2>(kSequence, rows);
}

/// Where rows of A lie.
struct Rows {
  const T* a;
  int64_t row;   // from row to row of a tile
  int64_t k;     // from one step in k to the next
  int64_t tile;  // from tile to tile, a row
};

/// The tile at the right edge: C's columns end before the panel does, so it goes through a buffer.
void EdgeTile(MicroKernelFn kernel, const Rows& a, const T* b, int64_t b_k, int64_t k, int64_t rows, int64_t width,
              const TileOut& out) {
  HWY_ALIGN T buffer[kRows * kWidth] = {};
  HWY_ALIGN T residual[kRows * kWidth] = {};
  HWY_ALIGN T col_bias[kWidth] = {};
  const size_t bytes = static_cast<size_t>(width) * sizeof(T);
  TileOut inner = out;
  inner.c = buffer;
  inner.c_row = kWidth;
  for (int64_t r = 0; r < rows; ++r) {
    if (out.add) std::memcpy(buffer + r * kWidth, out.c + r * out.c_row, bytes);
    if (out.last && out.residual != nullptr) std::memcpy(residual + r * kWidth, out.residual + r * out.c_row, bytes);
  }
  if (out.last && out.residual != nullptr) inner.residual = residual;
  if (out.last && out.col_bias != nullptr) {
    std::memcpy(col_bias, out.col_bias, bytes);
    inner.col_bias = col_bias;
  }
  kernel(a.a, a.row, a.k, b, b_k, k, inner);
  for (int64_t r = 0; r < rows; ++r) std::memcpy(out.c + r * out.c_row, buffer + r * kWidth, bytes);
}

/// Four rows of four columns.
template <class E>  // a template so that the branch on its size is discarded
HWY_INLINE void StoreTransposed4(const E* buffer, E* c, int64_t c_col) {
  if constexpr (sizeof(E) == 4) {
    const hn::FixedTag<E, 4> d4;
    const hn::Repartition<double, decltype(d4)> d2;
    const auto r0 = hn::LoadU(d4, buffer), r1 = hn::LoadU(d4, buffer + kBufferedColumns);
    const auto r2 = hn::LoadU(d4, buffer + 2 * kBufferedColumns), r3 = hn::LoadU(d4, buffer + 3 * kBufferedColumns);
    const auto q0 = hn::BitCast(d2, hn::InterleaveLower(d4, r0, r1)), q1 = hn::BitCast(d2, hn::InterleaveLower(d4, r2, r3));
    const auto q2 = hn::BitCast(d2, hn::InterleaveUpper(d4, r0, r1)), q3 = hn::BitCast(d2, hn::InterleaveUpper(d4, r2, r3));
    hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, q0, q1)), d4, c);
    hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, q0, q1)), d4, c + c_col);
    hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, q2, q3)), d4, c + 2 * c_col);
    hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, q2, q3)), d4, c + 3 * c_col);
  } else {
    for (int64_t j = 0; j < 4; ++j) {
      for (int64_t r = 0; r < 4; ++r) c[j * c_col + r] = buffer[r * kBufferedColumns + j];
    }
  }
}

/// A buffered block of rows, kBufferedColumns apart, to C whose columns are c_col apart and whose rows are neighbours.
void StoreTransposed(const T* buffer, int64_t rows, int64_t columns, T* c, int64_t c_col) {
  int64_t j = 0;
  for (; rows >= 4 && j + 4 <= columns; j += 4) {
    for (int64_t r = 0; r < rows; r += 4) {
      const int64_t first = std::min(r, rows - 4);
      StoreTransposed4(buffer + first * kBufferedColumns + j, c + j * c_col + first, c_col);
    }
  }
  for (; j < columns; ++j) {
    for (int64_t r = 0; r < rows; ++r) c[j * c_col + r] = buffer[r * kBufferedColumns + j];
  }
}

/// Columns contiguous in k (B was transposed): 4x4 blocks through registers.
template <class E>  // a template so that the branch on its size is discarded
void PackTransposed(const E* b, int64_t b_col, int64_t k, int64_t width, E* out) {
  int64_t j = 0;
  if constexpr (sizeof(E) == 4) {
    const hn::FixedTag<E, 4> d4;
    const hn::Repartition<double, decltype(d4)> d2;
    for (; j + 4 <= width; j += 4) {
      const E* source = b + j * b_col;
      int64_t p = 0;
      for (; p + 4 <= k; p += 4) {
        const auto r0 = hn::LoadU(d4, source + p);
        const auto r1 = hn::LoadU(d4, source + b_col + p);
        const auto r2 = hn::LoadU(d4, source + 2 * b_col + p);
        const auto r3 = hn::LoadU(d4, source + 3 * b_col + p);
        const auto q0 = hn::BitCast(d2, hn::InterleaveLower(d4, r0, r1));
        const auto q1 = hn::BitCast(d2, hn::InterleaveLower(d4, r2, r3));
        const auto q2 = hn::BitCast(d2, hn::InterleaveUpper(d4, r0, r1));
        const auto q3 = hn::BitCast(d2, hn::InterleaveUpper(d4, r2, r3));
        E* target = out + p * kWidth + j;
        hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, q0, q1)), d4, target);
        hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, q0, q1)), d4, target + kWidth);
        hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, q2, q3)), d4, target + 2 * kWidth);
        hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, q2, q3)), d4, target + 3 * kWidth);
      }
      for (; p < k; ++p) {
        for (int64_t i = 0; i < 4; ++i) out[p * kWidth + j + i] = LoadUnaligned(source + i * b_col + p);
      }
    }
  }
  for (; j < width; ++j) {
    for (int64_t p = 0; p < k; ++p) out[p * kWidth + j] = LoadUnaligned(b + j * b_col + p);
  }
}

void PackPanel(const T* b, int64_t b_k, int64_t b_col, int64_t k, int64_t width, T* out) {
  if (b_col == 1 && width == kWidth) {
    const D d;
    for (int64_t p = 0; p < k; ++p) {
      const V low = hn::LoadU(d, b + p * b_k);
      const V high = hn::LoadU(d, b + p * b_k + kLanes);
      hn::StoreU(low, d, out + p * kWidth);
      hn::StoreU(high, d, out + p * kWidth + kLanes);
    }
    return;
  }
  if (width < kWidth) std::fill_n(out, k * kWidth, T{0});
  if (b_k == 1) {
    PackTransposed(b, b_col, k, width, out);
    return;
  }
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < width; ++j) out[p * kWidth + j] = LoadUnaligned(b + p * b_k + j * b_col);
  }
}

/// k steps at a time that divide k evenly.
HWY_INLINE int64_t DepthStep(int64_t k) {
  const int64_t steps = (k + kDepth - 1) / kDepth;
  return steps <= 1 ? std::max<int64_t>(k, 1) : (k + steps - 1) / steps;
}

struct Panels {
  const T* data;
  int64_t stride;  // from panel to panel
  int64_t b_k;
  bool from_memory = false;  // what is packed beforehand, of which the next k follow
};

/// Rows of A that are not contiguous in k are copied so.
HWY_INLINE void CopyRows(const GemmArgs<T>& args, int64_t m0, int64_t m1, int64_t k0, int64_t kc, T* out) {
  for (int64_t p = 0; p < kc; ++p) {
    const T* source = args.a + m0 * args.a_row + (k0 + p) * args.a_k;
    for (int64_t i = 0; i < m1 - m0; ++i) out[i * kc + p] = source[i * args.a_row];
  }
}

void MultiplyBlock(const GemmArgs<T>& args, const Rows& a, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                   const Panels& panels, int64_t k0, int64_t kc) {
  TileOut out;
  out.c_row = args.c_row;
  out.alpha = args.alpha;
  out.add = args.accumulate || k0 > 0;
  out.last = k0 + kc >= args.k;
  out.epilogue = &args.epilogue;
  BlockPrefetch prefetch(kc * kWidth * static_cast<int64_t>(sizeof(T)), (m1 - m0 + kRows - 1) / kRows);
  for (int64_t n = n0; n < n1; n += kWidth) {
    if (panels.from_memory) prefetch.Begin(n + kWidth < n1 ? panels.data + ((n - n0) / kWidth + 1) * panels.stride : panels.data + kc * kWidth);
    const int64_t width = std::min<int64_t>(kWidth, n1 - n);
    const T* b = panels.data + (n - n0) / kWidth * panels.stride;
    const bool edge = width != kWidth && width != kLanes;
    for (int64_t m = m0; m < m1; m += kRows) {
      const int64_t rows = std::min<int64_t>(kRows, m1 - m);
      out.c = args.c + m * args.c_row + n;
      out.row_bias = args.epilogue.row_bias == nullptr ? nullptr : args.epilogue.row_bias + m;
      out.col_bias = args.epilogue.col_bias == nullptr ? nullptr : args.epilogue.col_bias + n;
      out.residual = args.epilogue.residual == nullptr ? nullptr : args.epilogue.residual + m * args.c_row + n;
      const MicroKernelFn kernel = KernelFor(rows, width);
      const Rows tile{a.a + (m - m0) * a.tile, a.row, a.k, a.tile};
      if (panels.from_memory) prefetch.Continue();
      if (edge) {
        EdgeTile(kernel, tile, b, panels.b_k, kc, rows, width, out);
      } else {
        kernel(tile.a, tile.row, tile.k, b, panels.b_k, kc, out);
      }
    }
  }
}

/// Rows of A that are neighbours in memory: each tile's are copied together, k after k.
HWY_INLINE void PackTiles(const GemmArgs<T>& args, int64_t m0, int64_t m1, int64_t k0, int64_t kc, T* out) {
  const D d;
  const T* end = args.a + args.m + (args.k - 1) * args.a_k;
  for (int64_t m = m0; m < m1; m += kRows, out += kRows * kc) {
    const int64_t rows = std::min<int64_t>(kRows, m1 - m);
    const T* from = args.a + m + k0 * args.a_k;
    T* to = out;
    for (int64_t p = 0; p < kc; ++p, from += args.a_k, to += kRows) {
      if (end - from >= kRows + kLanes) {  // what reaches past the rows is overwritten by the next
        for (int64_t r = 0; r < kRows; r += kLanes) hn::StoreU(hn::LoadU(d, from + r), d, to + r);
      } else {
        std::copy_n(from, rows, to);
      }
    }
  }
}

/// Copies of A's rows in the order that a tile reads them. `rows` holds kCopiedRows of kDepth.
Rows CopyTiles(const GemmArgs<T>& args, int64_t m0, int64_t m1, int64_t k0, int64_t kc, T* rows) {
  if (args.a_row == 1) {
    PackTiles(args, m0, m1, k0, kc, rows);
    return {rows, 1, kRows, kc};
  }
  CopyRows(args, m0, m1, k0, kc, rows);
  return {rows, kc, 1, kc};
}

void TileTransposedA(const GemmArgs<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, const Panels& panels,
                     int64_t k0, int64_t kc) {
  HWY_ALIGN T rows[kCopiedRows * kDepth + kLanes];
  for (int64_t m = m0; m < m1; m += kCopiedRows) {
    const int64_t end = std::min(m1, m + kCopiedRows);
    MultiplyBlock(args, CopyTiles(args, m, end, k0, kc, rows), m, end, n0, n1, panels, k0, kc);
  }
}

/// For args.c_col other than 1: blocks of C are finished in a buffer and transposed from there.
void TileToColumns(const GemmArgs<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  HWY_ALIGN T rows[kCopiedRows * kDepth + kLanes];
  HWY_ALIGN T buffer[kCopiedRows * kBufferedColumns];
  const int64_t depth = DepthStep(args.k);
  const int64_t stride = (args.packed_k == 0 ? args.k : args.packed_k) * kWidth;
  for (int64_t m = m0; m < m1; m += kCopiedRows) {
    const int64_t m_end = std::min(m1, m + kCopiedRows);
    for (int64_t n = n0; n < n1; n += kBufferedColumns) {
      const int64_t n_end = std::min(n1, n + kBufferedColumns);
      GemmArgs<T> block = args;
      block.c = buffer;
      block.c_row = kBufferedColumns;
      if (args.epilogue.row_bias != nullptr) block.epilogue.row_bias += m;
      if (args.epilogue.col_bias != nullptr) block.epilogue.col_bias += n;
      for (int64_t k0 = 0; k0 == 0 || k0 < args.k; k0 += depth) {
        const int64_t kc = std::min(depth, args.k - k0);
        const Rows a = CopyTiles(args, m, m_end, k0, kc, rows);
        MultiplyBlock(block, a, 0, m_end - m, 0, n_end - n, {args.packed_b + n / kWidth * stride + k0 * kWidth, stride, kWidth},
                      k0, kc);
      }
      StoreTransposed(buffer, m_end - m, n_end - n, args.c + m + n * args.c_col, args.c_col);
    }
  }
}

/// Packed B, contiguous rows of A: blocks of A are copied next to each other, which spares the TLB and keeps rows that are a
/// power of two apart from sharing cache sets.
void TileOfCopiedRows(const GemmArgs<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  constexpr int64_t kTogether = 4 * kColumns;  // enough to pay for the copy; a block of C of this width stays in L2
  HWY_ALIGN T rows[kCopiedRows * kDepth];
  const int64_t depth = DepthStep(args.k);
  const int64_t stride = (args.packed_k == 0 ? args.k : args.packed_k) * kWidth;
  // Blocks of about the same height: the last would pay for all of B with few rows.
  const int64_t blocks = (m1 - m0 + kCopiedRows - 1) / kCopiedRows;
  const int64_t height = ((m1 - m0 + blocks - 1) / blocks + kRows - 1) / kRows * kRows;
  for (int64_t n = n0; n < n1; n += kTogether) {
    for (int64_t m = m0; m < m1; m += height) {
      const int64_t end = std::min(m1, m + height);
      for (int64_t k0 = 0; k0 < args.k; k0 += depth) {
        const int64_t kc = std::min(depth, args.k - k0);
        for (int64_t i = m; i < end; ++i) std::copy_n(args.a + i * args.a_row + k0, kc, rows + (i - m) * kc);
        MultiplyBlock(args, {rows, kc, 1, kc}, m, end, n, std::min(n1, n + kTogether),
                      {args.packed_b + n / kWidth * stride + k0 * kWidth, stride, kWidth, m == m0}, k0, kc);
      }
    }
  }
}

void Tile(const GemmArgs<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  if (args.c_col != 1) return TileToColumns(args, m0, m1, n0, n1);
  if (args.packed_b != nullptr && args.a_k == 1 && n1 - n0 >= kColumns && m1 - m0 > kRows && args.k > 0) {
    return TileOfCopiedRows(args, m0, m1, n0, n1);
  }
  const bool packed = args.packed_b != nullptr;
  if (packed && args.a_k == 1 && m1 - m0 <= kRows && args.k > 0) {
    // Every panel is read once: in its whole depth, so that B is one stream from memory.
    const int64_t stride = (args.packed_k == 0 ? args.k : args.packed_k) * kWidth;
    const Rows a{args.a + m0 * args.a_row, args.a_row, 1, args.a_row};
    return MultiplyBlock(args, a, m0, m1, n0, n1, {args.packed_b + n0 / kWidth * stride, stride, kWidth}, 0, args.k);
  }
  HWY_ALIGN T buffer[kDepth * kColumns + kWidth];
  const bool in_place = !packed && args.source == nullptr && args.b_col == 1 && m1 - m0 <= kRows;
  const int64_t depth = DepthStep(args.k);
  for (int64_t n = n0; n < n1; n += kColumns) {
    const int64_t n_end = std::min(n1, n + kColumns);
    // Reading B in place must not run past its last column.
    const int64_t n_direct = in_place ? n + (n_end - n) / kWidth * kWidth : n;
    for (int64_t k0 = 0; k0 == 0 || k0 < args.k; k0 += depth) {
      const int64_t kc = std::min(depth, args.k - k0);
      const auto multiply = [&](int64_t from, int64_t to, const Panels& panels) {
        if (from == to) return;
        if (args.a_k != 1) {
          TileTransposedA(args, m0, m1, from, to, panels, k0, kc);
          return;
        }
        for (int64_t m = m0; m < m1; m += kRowBlock) {
          MultiplyBlock(args, {args.a + m * args.a_row + k0, args.a_row, 1, args.a_row}, m, std::min(m1, m + kRowBlock), from,
                        to, panels, k0, kc);
        }
      };
      if (packed) {
        const int64_t stride = (args.packed_k == 0 ? args.k : args.packed_k) * kWidth;
        multiply(n, n_end, {args.packed_b + n / kWidth * stride + k0 * kWidth, stride, kWidth});
        continue;
      }
      if (in_place) multiply(n, n_direct, {args.b + k0 * args.b_k + n, kWidth, args.b_k});
      for (int64_t j = n_direct; j < n_end; j += kWidth) {
        const int64_t width = std::min<int64_t>(kWidth, n_end - j);
        T* panel = buffer + (j - n_direct) * kc;
        if (args.source != nullptr) {
          args.source->Pack(k0, kc, j, width, panel);
        } else {
          PackPanel(args.b + k0 * args.b_k + j * args.b_col, args.b_k, args.b_col, kc, width, panel);
        }
      }
      multiply(n_direct, n_end, {buffer, kc * kWidth, kWidth});
    }
  }
}

HWY_INLINE T FinishOne(const GemmArgs<T>& args, T sum, int64_t column) {
  T v = args.alpha * sum;
  if (args.accumulate) v += args.c[column];
  if (args.epilogue.row_bias != nullptr) v += args.epilogue.row_bias[0];
  if (args.epilogue.col_bias != nullptr) v += args.epilogue.col_bias[column];
  if (args.epilogue.residual != nullptr) v += args.epilogue.residual[column];
  if (args.epilogue.activation == GemmActivation::kNone) return v;
  const D full;
  return hn::GetLane(Activate(full, hn::Set(full, v), args.epilogue));
}

/// One row times transposed B: a dot product per column, four columns at a time so that x is loaded once.
void Dots(const GemmArgs<T>& args, int64_t n0, int64_t n1) {
  const D d;
  const int64_t k = args.k;
  int64_t n = n0;
  for (; n + 4 <= n1; n += 4) {
    const T* b0 = args.b + n * args.b_col;
    const T* b1 = b0 + args.b_col;
    const T* b2 = b1 + args.b_col;
    const T* b3 = b2 + args.b_col;
    V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
    int64_t p = 0;
    for (; p + 2 * kLanes <= k; p += 2 * kLanes) {
      const V x0 = hn::LoadU(d, args.a + p);
      const V x1 = hn::LoadU(d, args.a + p + kLanes);
      s0 = hn::MulAdd(x0, hn::LoadU(d, b0 + p), s0);
      s1 = hn::MulAdd(x0, hn::LoadU(d, b1 + p), s1);
      s2 = hn::MulAdd(x0, hn::LoadU(d, b2 + p), s2);
      s3 = hn::MulAdd(x0, hn::LoadU(d, b3 + p), s3);
      t0 = hn::MulAdd(x1, hn::LoadU(d, b0 + p + kLanes), t0);
      t1 = hn::MulAdd(x1, hn::LoadU(d, b1 + p + kLanes), t1);
      t2 = hn::MulAdd(x1, hn::LoadU(d, b2 + p + kLanes), t2);
      t3 = hn::MulAdd(x1, hn::LoadU(d, b3 + p + kLanes), t3);
    }
    T sums[4] = {hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, t0))), hn::GetLane(hn::SumOfLanes(d, hn::Add(s1, t1))),
                 hn::GetLane(hn::SumOfLanes(d, hn::Add(s2, t2))), hn::GetLane(hn::SumOfLanes(d, hn::Add(s3, t3)))};
    for (; p < k; ++p) {
      const T x = args.a[p];
      sums[0] += x * b0[p];
      sums[1] += x * b1[p];
      sums[2] += x * b2[p];
      sums[3] += x * b3[p];
    }
    for (int i = 0; i < 4; ++i) args.c[n + i] = FinishOne(args, sums[i], n + i);
  }
  for (; n < n1; ++n) {
    const T* b = args.b + n * args.b_col;
    V s[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    int64_t p = 0;
    for (; p + 4 * kLanes <= k; p += 4 * kLanes) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        s[u] = hn::MulAdd(hn::LoadU(d, args.a + p + u * kLanes), hn::LoadU(d, b + p + u * kLanes), s[u]);
      }
    }
    T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s[0], s[1]), hn::Add(s[2], s[3]))));
    for (; p < k; ++p) sum += args.a[p] * b[p];
    args.c[n] = FinishOne(args, sum, n);
  }
}

/// One row times row-major B: eight vectors of columns at a time, down all of k.
void RowTimesMatrix(const GemmArgs<T>& args, int64_t n0, int64_t n1) {
  const D d;
  constexpr int kVectors = 8;
  int64_t n = n0;
  for (; n + kVectors * kLanes <= n1; n += kVectors * kLanes) {
    V acc[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) acc[j] = hn::Zero(d);
    const T* b = args.b + n;
    for (int64_t p = 0; p < args.k; ++p, b += args.b_k) {
      const V x = hn::Set(d, args.a[p * args.a_k]);
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) acc[j] = hn::MulAdd(x, hn::LoadU(d, b + j * kLanes), acc[j]);
    }
    TileOut out{args.c + n, args.c_row, args.alpha, args.accumulate, true, &args.epilogue, args.epilogue.row_bias,
                args.epilogue.col_bias == nullptr ? nullptr : args.epilogue.col_bias + n,
                args.epilogue.residual == nullptr ? nullptr : args.epilogue.residual + n};
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      V one[1][1] = {{acc[j]}};
      StoreTile<1, 1>(d, one, out);
      out.c += kLanes;
      if (out.col_bias != nullptr) out.col_bias += kLanes;
      if (out.residual != nullptr) out.residual += kLanes;
    }
  }
  for (; n + kLanes <= n1; n += kLanes) {
    V acc = hn::Zero(d);
    for (int64_t p = 0; p < args.k; ++p) {
      acc = hn::MulAdd(hn::Set(d, args.a[p * args.a_k]), hn::LoadU(d, args.b + p * args.b_k + n), acc);
    }
    const TileOut out{args.c + n, args.c_row, args.alpha, args.accumulate, true, &args.epilogue, args.epilogue.row_bias,
                      args.epilogue.col_bias == nullptr ? nullptr : args.epilogue.col_bias + n,
                      args.epilogue.residual == nullptr ? nullptr : args.epilogue.residual + n};
    V one[1][1] = {{acc}};
    StoreTile<1, 1>(d, one, out);
  }
  for (; n < n1; ++n) {
    T sum = 0;
    for (int64_t p = 0; p < args.k; ++p) sum += args.a[p * args.a_k] * args.b[p * args.b_k + n];
    args.c[n] = FinishOne(args, sum, n);
  }
}

}  // namespace

const GemmKernels<T>& GEMM_KERNELS() {
  static constexpr GemmKernels<T> kernels = {kWidth, kRows, Tile, PackPanel, Dots, RowTimesMatrix};
  return kernels;
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
