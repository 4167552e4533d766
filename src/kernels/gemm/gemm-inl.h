// GEMM for one instruction set: blocks for the caches, of tiles for the registers. Included once per target
// by gemm_f32.cpp and gemm_f64.cpp, which define GEMM_T (the element type) and GEMM_KERNELS (the name of the table).

#include <algorithm>
#include <type_traits>

#include "base/cancellation.h"
#include "base/work_array.h"
#include "kernels/gemm/gemm_pack-inl.h"
#include "kernels/gemm/gemm_tile-inl.h"
#include "kernels/gemm/gemm_vector-inl.h"

#if defined(TESSERA_GEMM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GEMM_INL_H
#undef TESSERA_GEMM_INL_H
#else
#define TESSERA_GEMM_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// k steps at a time that divide k evenly, at most `most`, for panels of B.
template <class B>
HWY_INLINE int64_t DepthStep(const GemmProblem<T>& args, int64_t most = kDepth) {
  const int64_t steps = CeilDiv(args.k, std::is_same_v<B, T> ? most : kWidenedDepth);
  return steps <= 1 ? std::max<int64_t>(args.k, 1) : CeilDiv(args.k, steps);
}

/// Of T, or of 16 bits.
template <class B>
struct Panels {
  const B* data;
  int64_t stride;  // from panel to panel
  int64_t b_k;
  bool from_afar = false;  // prepacked, is read in order of k and is not in the second cache
};

constexpr int64_t kNearBytes = 32 << 10;  // of B, which stay near while rows of C are written whole

/// Columns of B that are packed at a time: more of shallow ones.
HWY_INLINE int64_t ColumnsTogether(int64_t depth) {
  constexpr int64_t kNear = kNearBytes / static_cast<int64_t>(sizeof(T));
  static_assert(kNear <= kDepth * kColumns);
  return std::max(kNear / depth / kWidth * kWidth, kColumns);
}

/// `meanwhile`: what a panel that stays near leaves time for.
template <class B>
void MultiplyBlock(const GemmProblem<T>& args, const Rows& a, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                   const Panels<B>& panels, int64_t k0, int64_t kc, BlockPrefetch* meanwhile = nullptr);

/// Panels of 16 bits that several tiles read: each becomes floats once. kc is at most kWidenedDepth.
template <class B>
void MultiplyWidened(const GemmProblem<T>& args, const Rows& a, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                     const Panels<B>& panels, int64_t k0, int64_t kc) {
  const WorkArray<T> buffer(kWidenedDepth * kWidth);
  const B* panel = panels.data;
  BlockPrefetch prefetch(kc * kWidth * static_cast<int64_t>(sizeof(B)), CeilDiv(m1 - m0, kRows) * AskingTimes(kc));
  for (int64_t n = n0; n < n1; n += kWidth, panel += panels.stride) {
    WidenPanel(panel, kc, buffer);
    prefetch.Begin(n + kWidth < n1 ? panel + panels.stride : panels.data + kc * kWidth);
    MultiplyBlock(args, a, m0, m1, n, std::min(n1, n + kWidth), Panels<T>{buffer.data(), 0, kWidth}, k0, kc, &prefetch);
  }
}

/// Panels of args.rhs.packed from column n and row k0 on.
template <class B>
HWY_INLINE Panels<B> PackedPanels(const GemmProblem<T>& args, int64_t n, int64_t k0, bool from_afar = false) {
  const int64_t stride = (args.rhs.packed_k == 0 ? args.k : args.rhs.packed_k) * kWidth;
  return {static_cast<const B*>(args.rhs.packed) + n / kWidth * stride + k0 * kWidth, stride, kWidth, from_afar};
}

template <class B>
void MultiplyBlock(const GemmProblem<T>& args, const Rows& a, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                   const Panels<B>& panels, int64_t k0, int64_t kc, BlockPrefetch* meanwhile) {
  if constexpr (!std::is_same_v<B, T>) {
    if (m1 - m0 > kRows) return MultiplyWidened(args, a, m0, m1, n0, n1, panels, k0, kc);
  }
  const Epilogue<T>& epilogue = args.epilogue;
  const T *row_bias = epilogue.row_bias(), *col_bias = epilogue.col_bias();
  TileOut out{};
  out.c_row = args.out.row;
  out.alpha = args.alpha;
  out.add = args.accumulate || k0 > 0;
  out.last = k0 + kc >= args.k && epilogue;
  out.activation = epilogue.activation;
  constexpr int64_t kShallow = 128;
  const MicroKernelFn<B> whole = kc <= kShallow ? MicroKernel<B, kRows, 2, false> : MicroKernel<B, kRows, 2>;
  const auto tile = [&](int64_t m, int64_t n, BlockPrefetch* ahead) {
    const int64_t rows = std::min<int64_t>(kRows, m1 - m), width = std::min<int64_t>(kWidth, n1 - n);
    const B* b = panels.data + (n - n0) / kWidth * panels.stride;
    const T* from = a.a + (m - m0) * a.tile;
    out.c = args.out.data + m * args.out.row + n;
    if (out.last) {
      out.row_bias = row_bias == nullptr ? nullptr : row_bias + m;
      out.col_bias = col_bias == nullptr ? nullptr : col_bias + n;
      out.residual = epilogue.residual == nullptr ? nullptr : epilogue.residual + m * args.out.row + n;
    }
    if (rows == kRows && width == kWidth) return whole(from, a.row, a.k, b, panels.b_k, kc, out, ahead);
    const MicroKernelFn<B> kernel = KernelFor<B>(rows, width, args.m <= kRows);
    if (width != kWidth && width != kLanes) {
      EdgeTile<B>(kernel, {from, a.row, a.k, a.tile}, b, panels.b_k, kc, rows, width, out, ahead);
    } else {
      kernel(from, a.row, a.k, b, panels.b_k, kc, out, ahead);
    }
  };
  const int64_t panel_bytes = kc * kWidth * static_cast<int64_t>(sizeof(B));
  if (!panels.from_afar && CeilDiv(n1 - n0, kWidth) * panel_bytes <= kNearBytes) {
    // All of B stays in the cache: C, which may not be in any, is written row after row.
    for (int64_t m = m0; m < m1; m += kRows) {
      for (int64_t n = n0; n < n1; n += kWidth) tile(m, n, meanwhile);
    }
    return;
  }
  BlockPrefetch prefetch(panel_bytes, CeilDiv(m1 - m0, kRows) * AskingTimes(kc));
  for (int64_t n = n0; n < n1; n += kWidth) {
    const B* next = n + kWidth < n1 ? panels.data + ((n - n0) / kWidth + 1) * panels.stride : panels.data + kc * kWidth;
    if (panels.from_afar) prefetch.Begin(next);
    for (int64_t m = m0; m < m1; m += kRows) tile(m, n, panels.from_afar ? &prefetch : nullptr);
  }
}

template <class B>
void TileTransposedA(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, const Panels<B>& panels,
                     int64_t k0, int64_t kc) {
  const WorkArray<T> rows(kCopySize);
  for (int64_t m = m0; m < m1; m += kCopiedRows) {
    const int64_t end = std::min(m1, m + kCopiedRows);
    CancellationPoint();
    MultiplyBlock(args, CopyTiles(args, m, end, k0, kc, rows), m, end, n0, n1, panels, k0, kc);
  }
}

/// For args.out.col other than 1: blocks of C are finished in a buffer and transposed from there.
template <class B>
void TileToColumns(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  const WorkArray<T> rows(kCopySize + kCopiedRows * kBufferedColumns);
  T* buffer = rows + kCopySize;
  const int64_t depth = DepthStep<B>(args);
  for (int64_t m = m0; m < m1; m += kCopiedRows) {
    const int64_t m_end = std::min(m1, m + kCopiedRows);
    for (int64_t n = n0; n < n1; n += kBufferedColumns) {
      const int64_t n_end = std::min(n1, n + kBufferedColumns);
      GemmProblem<T> block = args;
      block.out = {.data = buffer, .row = kBufferedColumns};
      block.epilogue = args.epilogue.From(args.epilogue.channels_are_rows ? m : n, 0);
      for (int64_t k0 = 0; k0 == 0 || k0 < args.k; k0 += depth) {
        CancellationPoint();
        const int64_t kc = std::min(depth, args.k - k0);
        const Rows a = CopyTiles(args, m, m_end, k0, kc, rows);
        MultiplyBlock(block, a, 0, m_end - m, 0, n_end - n, PackedPanels<B>(args, n, k0), k0, kc);
      }
      StoreTransposed(buffer, m_end - m, n_end - n, args.out.data + m + n * args.out.col, args.out.col);
    }
  }
}

/// Packed B, contiguous rows of A: blocks of A are copied in the order that tiles read them, which spares instructions and
/// the TLB and keeps rows that are a power of two apart from sharing cache sets.
template <class B>
void TileOfCopiedRows(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  constexpr int64_t kTogether = 24 * kColumns;  // enough to pay for the copy
  const WorkArray<T> rows(kCopySize);
  // Blocks of about the same height: the last would pay for all of B with few rows.
  const int64_t depth = DepthStep<B>(args, kMostDepth);
  const int64_t blocks = CeilDiv(m1 - m0, std::min(kCopiedRows, kMostCopied / depth / kRows * kRows));
  const int64_t height = RoundUp(CeilDiv(m1 - m0, blocks), kRows);
  const bool shallow = ColumnsTogether(args.k) > kColumns;
  const int64_t together = shallow ? ColumnsTogether(args.k) : kTogether;
  for (int64_t n = n0; n < n1; n += together) {
    constexpr int64_t kCacheBytes = 256 << 10;
    const bool leaves_cache = std::min(n1 - n, together) * args.k * static_cast<int64_t>(sizeof(T)) > kCacheBytes;
    for (int64_t m = m0; m < m1; m += height) {
      const int64_t end = std::min(m1, m + height);
      for (int64_t k0 = 0; k0 < args.k; k0 += depth) {
        CancellationPoint();
        const int64_t kc = std::min(depth, args.k - k0);
        const Rows a = CopyTiles(args, m, end, k0, kc, rows);
        const Panels<B> panels = PackedPanels<B>(args, n, k0, !shallow && (m == m0 || leaves_cache));
        MultiplyBlock(args, a, m, end, n, std::min(n1, n + together), panels, k0, kc);
      }
    }
  }
}

constexpr int64_t kStreamed = int64_t{4} << 20;  // elements of B between cancellation points

/// A few rows and packed B: every panel is read once, in its whole depth, so that B is one stream from memory.
template <class B>
void TileOfFewRows(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  const Rows a{args.lhs.data + m0 * args.lhs.row, args.lhs.row, 1, args.lhs.row};
  const int64_t together = std::max<int64_t>(kStreamed / args.k / kWidth, 1) * kWidth;
  for (int64_t n = n0; n < n1; n += together) {
    CancellationPoint();
    MultiplyBlock(args, a, m0, m1, n, std::min(n1, n + together), PackedPanels<B>(args, n, 0), 0, args.k);
  }
}

/// Columns [from, to), whose panels these are, by rows of A where they are.
template <class B>
void MultiplyColumns(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t from, int64_t to, const Panels<B>& panels,
                     int64_t k0, int64_t kc) {
  if (from == to) return;
  if (args.lhs.k != 1) return TileTransposedA(args, m0, m1, from, to, panels, k0, kc);
  for (int64_t m = m0; m < m1; m += kRowBlock) {
    CancellationPoint();
    MultiplyBlock(args, {args.lhs.data + m * args.lhs.row + k0, args.lhs.row, 1, args.lhs.row}, m,
                  std::min(m1, m + kRowBlock), from, to, panels, k0, kc);
  }
}

/// B is packed on the way, or read where it is.
void TileOfPlain(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  const WorkArray<T> buffer(kDepth * kColumns + kWidth);
  const GemmRhs<T>& b = args.rhs;
  const bool in_place = b.source == nullptr && b.col == 1 && m1 - m0 <= kRows;
  const int64_t depth = DepthStep<T>(args), together = ColumnsTogether(depth);
  for (int64_t n = n0; n < n1; n += together) {
    const int64_t n_end = std::min(n1, n + together);
    // Reading B in place must not run past its last column.
    const int64_t n_direct = in_place ? n + (n_end - n) / kWidth * kWidth : n;
    for (int64_t k0 = 0; k0 == 0 || k0 < args.k; k0 += depth) {
      const int64_t kc = std::min(depth, args.k - k0);
      if (in_place) MultiplyColumns(args, m0, m1, n, n_direct, Panels<T>{b.data + k0 * b.k + n, kWidth, b.k}, k0, kc);
      int64_t j = n_direct;
      constexpr int64_t kPageBytes = 4096;
      if (b.source == nullptr && b.col == 1 && b.k * static_cast<int64_t>(sizeof(T)) >= kPageBytes) {
        const int64_t panels = (n_end - j) / kWidth;
        PackWholePanels(b.data + k0 * b.k + j, b.k, kc, panels, buffer);
        j += panels * kWidth;
      }
      for (; j < n_end; j += kWidth) {
        const int64_t width = std::min<int64_t>(kWidth, n_end - j);
        T* panel = buffer + (j - n_direct) * kc;
        if (b.source != nullptr) {
          b.source->Pack(k0, kc, j, width, panel);
        } else {
          PackPanel(b.data + k0 * b.k + j * b.col, b.k, b.col, kc, width, panel);
        }
      }
      MultiplyColumns(args, m0, m1, n_direct, n_end, Panels<T>{buffer.data(), kc * kWidth, kWidth}, k0, kc);
    }
  }
}

/// Panels of B's elements where it is packed.
template <class B>
void Tile(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  if (args.out.col != 1) return TileToColumns<B>(args, m0, m1, n0, n1);
  if constexpr (std::is_same_v<B, T>) {
    if (TakesFewColumns(args, m1 - m0, n1 - n0)) return FewColumns(args, m0, m1, n0, n1 - n0);
    if (args.rhs.packed == nullptr) return TileOfPlain(args, m0, m1, n0, n1);
  }
  if (args.lhs.k == 1 && args.k > 0) {
    if (m1 - m0 <= kRows) return TileOfFewRows<B>(args, m0, m1, n0, n1);
    if (n1 - n0 >= kColumns) return TileOfCopiedRows<B>(args, m0, m1, n0, n1);
  }
  const int64_t depth = DepthStep<B>(args), together = ColumnsTogether(depth);
  for (int64_t n = n0; n < n1; n += together) {
    for (int64_t k0 = 0; k0 == 0 || k0 < args.k; k0 += depth)
      MultiplyColumns(args, m0, m1, n, std::min(n1, n + together), PackedPanels<B>(args, n, k0), k0,
                      std::min(depth, args.k - k0));
  }
}

// What rows of kernels.inc need.
struct Vectors {
  static constexpr bool kAvailable = true;
};
struct F16C {
  static constexpr bool kAvailable = kConvertsFloat16;
};

template <class Needs, class B>
constexpr auto TileIfAvailable() -> decltype(GemmKernel<T>::multiply) {
  if constexpr (Needs::kAvailable) return Tile<B>;
  else return nullptr;
}

#define GEMM_ROW(name, Needs, Lhs, Rhs, Out, few, many, steps, format) \
  {#name,                                                              \
   PanelType::format,                                                  \
   HWY_TARGET == HWY_AVX3 ? many : few,                                \
   kWidth,                                                             \
   steps,                                                              \
   Needs::kAvailable,                                                  \
   false,                                                              \
   TileIfAvailable<Needs, Rhs>()},
constexpr GemmKernel<T> kKernels[] = {
#include "kernels/gemm/kernels.inc"
};
#undef GEMM_ROW
static_assert(std::ranges::all_of(kKernels, [](const auto& row) { return row.rows == kRows && row.unroll == kUnroll; }));

template <class U>
constexpr GemmKernels<U> KernelTable() {
  GemmKernels<U> table{kWidth,   kRows,     kColumns, kCopiedRows, kCopyCost, kReadCost,
                       kKernels, PackPanel, nullptr,  nullptr,     Dots,      RowTimesMatrix};
  if constexpr (std::is_same_v<U, float>) {
    table.to_bfloat16 = NarrowPanel<BFloat16>;
    if constexpr (kConvertsFloat16) table.to_float16 = NarrowPanel<Float16>;
  }
  return table;
}

}  // namespace

const GemmKernels<T>& GEMM_KERNELS() {
  static constexpr GemmKernels<T> kernels = KernelTable<T>();
  return kernels;
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
