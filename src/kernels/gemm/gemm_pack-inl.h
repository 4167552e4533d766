// How the GEMM copies A, B and C into other orders. Part of gemm-inl.h.

#include <algorithm>

#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/gemm_tile-inl.h"
#include "kernels/transpose/transpose_block-inl.h"
#include "tessera/value.h"

#if defined(TESSERA_GEMM_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GEMM_PACK_INL_H
#undef TESSERA_GEMM_PACK_INL_H
#else
#define TESSERA_GEMM_PACK_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// A buffered block of rows, kBufferedColumns apart, to C whose columns are c_col apart and whose rows are adjacent.
void StoreTransposed(const T* buffer, int64_t rows, int64_t columns, T* c, int64_t c_col) {
  constexpr int64_t kSide = kBlockSide<T>;
  int64_t j = 0;
  for (; rows >= kSide && j + kSide <= columns; j += kSide) {
    for (int64_t r = 0; r < rows; r += kSide) {
      const int64_t first = std::min(r, rows - kSide);
      TransposeBlock(buffer + first * kBufferedColumns + j, kBufferedColumns, c + j * c_col + first, c_col);
    }
  }
  for (; j < columns; ++j) {
    for (int64_t r = 0; r < rows; ++r) c[j * c_col + r] = buffer[r * kBufferedColumns + j];
  }
}

/// `width` rows of k adjacent elements, `src_stride` apart, to adjacent columns: element p of row j to out[p * out_k + j].
void PackTransposed(const T* src, int64_t src_stride, int64_t k, int64_t width, T* out, int64_t out_k) {
  constexpr int64_t kSide = kBlockSide<T>;
  const int64_t blocks_end = width < kSide ? 0 : k / kSide * kSide;
  for (int64_t p = 0; p < blocks_end; p += kSide) {
    for (int64_t j = 0; j < width; j += kSide) {
      const int64_t first = std::min(j, width - kSide);
      TransposeBlock(src + first * src_stride + p, src_stride, out + p * out_k + first, out_k);
    }
  }
  for (int64_t j = 0; j < width; ++j) {
    for (int64_t p = blocks_end; p < k; ++p) out[p * out_k + j] = LoadUnaligned(src + j * src_stride + p);
  }
}

/// Whole panels of adjacent columns, row after row: where each row has a page of its own, that is looked up
/// once.
HWY_INLINE void PackWholePanels(const T* b, int64_t b_k, int64_t k, int64_t panels, T* out) {
  const D d;
  for (int64_t p = 0; p < k; ++p, out += kWidth) {
    const T* row = b + p * b_k;
    for (int64_t j = 0; j < panels; ++j, row += kWidth) {
      const V low = hn::LoadU(d, row), high = hn::LoadU(d, row + kLanes);
      hn::StoreU(low, d, out + j * k * kWidth);
      hn::StoreU(high, d, out + j * k * kWidth + kLanes);
    }
  }
}

void PackPanel(const T* b, int64_t b_k, int64_t b_col, int64_t k, int64_t width, T* out) {
  if (b_col == 1 && width == kWidth) {
    PackWholePanels(b, b_k, k, 1, out);
    return;
  }
  if (width < kWidth) std::fill_n(out, k * kWidth, T{0});
  if (b_k == 1) {
    PackTransposed(b, b_col, k, width, out, kWidth);
    return;
  }
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < width; ++j) out[p * kWidth + j] = LoadUnaligned(b + p * b_k + j * b_col);
  }
}

/// Rows of A that are neither contiguous in k nor adjacent become contiguous in k.
HWY_INLINE void CopyRows(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t k0, int64_t kc, T* out) {
  for (int64_t p = 0; p < kc; ++p) {
    const T* source = args.lhs.data + m0 * args.lhs.row + (k0 + p) * args.lhs.k;
    for (int64_t i = 0; i < m1 - m0; ++i) out[i * kc + p] = source[i * args.lhs.row];
  }
}

/// Rows of A that are adjacent in memory: each tile's are copied together, k after k.
HWY_INLINE void PackTiles(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t k0, int64_t kc, T* out) {
  const D d;
  const T* end = args.lhs.data + args.m + (args.k - 1) * args.lhs.k;
  for (int64_t m = m0; m < m1; m += kRows, out += kRows * kc) {
    const int64_t rows = std::min<int64_t>(kRows, m1 - m);
    const T* from = args.lhs.data + m + k0 * args.lhs.k;
    T* to = out;
    for (int64_t p = 0; p < kc; ++p, from += args.lhs.k, to += kRows) {
      if (end - from >= kRows + kLanes) {  // what reaches past the rows is overwritten by the next
        for (int64_t r = 0; r < kRows; r += kLanes) hn::StoreU(hn::LoadU(d, from + r), d, to + r);
      } else {
        std::copy_n(from, rows, to);
      }
    }
  }
}

/// Elements of the buffer that CopyTiles needs: the last vectors of PackTiles write past the rows.
constexpr int64_t kCopySize = kMostCopied + kLanes;

/// Copies of A's rows, at most kMostCopied elements, in the order that a tile reads them. `rows` holds kCopySize.
Rows CopyTiles(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t k0, int64_t kc, T* rows) {
  if (args.lhs.row == 1) {
    PackTiles(args, m0, m1, k0, kc, rows);
  } else if (args.lhs.k == 1) {
    for (int64_t m = m0; m < m1; m += kRows) {
      PackTransposed(args.lhs.data + m * args.lhs.row + k0, args.lhs.row, kc, std::min<int64_t>(kRows, m1 - m),
                     rows + (m - m0) * kc, kRows);
    }
  } else {
    CopyRows(args, m0, m1, k0, kc, rows);
    return {rows, kc, 1, kc};
  }
  return {rows, 1, kRows, kc};
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
