// How the matrix product copies A, B and C into other orders. Part of gemm-inl.h.

#include <algorithm>

#include "simd/gemm_tile-inl.h"

#if defined(TESSERA_GEMM_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GEMM_PACK_INL_H
#undef TESSERA_GEMM_PACK_INL_H
#else
#define TESSERA_GEMM_PACK_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

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

/// Rows of A that are not contiguous in k are copied so.
HWY_INLINE void CopyRows(const GemmArgs<T>& args, int64_t m0, int64_t m1, int64_t k0, int64_t kc, T* out) {
  for (int64_t p = 0; p < kc; ++p) {
    const T* source = args.a + m0 * args.a_row + (k0 + p) * args.a_k;
    for (int64_t i = 0; i < m1 - m0; ++i) out[i * kc + p] = source[i * args.a_row];
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

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
