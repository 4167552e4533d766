#include "kernels/transpose/transpose.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/transpose/transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/transpose/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE const T* At(const std::byte* p, int64_t offset) {
  return reinterpret_cast<const T*>(p + offset);
}
template <class T>
HWY_INLINE T* At(std::byte* p, int64_t offset) {
  return reinterpret_cast<T*>(p + offset);
}

template <class T>
HWY_INLINE void ScalarTile(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows,
                           int64_t cols) {
  for (int64_t j = 0; j < cols; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      std::memcpy(dst + j * dst_stride + i * static_cast<int64_t>(sizeof(T)),
                  src + i * src_stride + j * static_cast<int64_t>(sizeof(T)), sizeof(T));
    }
  }
}

/// Interleaving the first with the second half of the registers rotates the bits of (register, lane) by one, in every
/// 128-bit block: log2(N) rounds exchange register and lane of N registers of N lanes.
template <size_t kRounds, class D, class V, size_t kRegisters>
HWY_INLINE void TransposeBlocks(D d, V (&v)[kRegisters]) {
  for (size_t round = 1; round < kRounds; round *= 2) {
    V next[kRegisters];
    for (size_t k = 0; k < kRegisters / 2; ++k) {
      next[2 * k] = hn::InterleaveLower(d, v[k], v[k + kRegisters / 2]);
      next[2 * k + 1] = hn::InterleaveUpper(d, v[k], v[k + kRegisters / 2]);
    }
    for (size_t k = 0; k < kRegisters; ++k) v[k] = next[k];
  }
}

/// One tile of kBlocks * N rows and N columns, N elements being 128 bits.
template <class T, size_t kBlocks>
HWY_INLINE void VectorTile(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride) {
  constexpr size_t N = 16 / sizeof(T);
  const hn::FixedTag<T, N * kBlocks> d;
  const hn::FixedTag<T, N> block;
  hn::Vec<decltype(d)> v[N];
  for (size_t k = 0; k < N; ++k) {
    const int64_t row = static_cast<int64_t>(k);
    const auto lower = hn::LoadU(block, At<T>(src, row * src_stride));
    if constexpr (kBlocks == 1) {
      v[k] = lower;
    } else {
      v[k] = hn::Combine(d, hn::LoadU(block, At<T>(src, (row + static_cast<int64_t>(N)) * src_stride)), lower);
    }
  }
  TransposeBlocks<N>(d, v);
  for (size_t k = 0; k < N; ++k) hn::StoreU(v[k], d, At<T>(dst, static_cast<int64_t>(k) * dst_stride));
}

/// A vector of parts, each from where `at` finds it.
template <size_t kParts, class D, class Where>
HWY_INLINE hn::Vec<D> LoadParts(D d, const Where& at, size_t first = 0) {
  if constexpr (kParts == 1) {
    return hn::LoadU(d, At<hn::TFromD<D>>(at(first), 0));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, LoadParts<kParts / 2>(half, at, first + kParts / 2), LoadParts<kParts / 2>(half, at, first));
  }
}

/// The other way.
template <size_t kParts, class D, class Where>
HWY_INLINE void StoreParts(D d, hn::Vec<D> v, const Where& at, size_t first = 0) {
  if constexpr (kParts == 1) {
    hn::StoreU(v, d, At<hn::TFromD<D>>(at(first), 0));
  } else {
    const hn::Half<D> half;
    StoreParts<kParts / 2>(half, hn::LowerHalf(half, v), at, first);
    StoreParts<kParts / 2>(half, hn::UpperHalf(half, v), at, first + kParts / 2);
  }
}

/// A tile of kRows by kCols elements: parts of the N elements of 128 bits. A register has adjacent rows at first, adjacent
/// columns at the end.
template <class T, size_t kRows, size_t kCols>
HWY_INLINE void PartTile(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride) {
  constexpr size_t N = 16 / sizeof(T), kRegisters = kRows * kCols / N, kRowsEach = N / kCols, kColsEach = N / kRows;
  const hn::FixedTag<T, N> d;
  hn::Vec<decltype(d)> v[kRegisters];
#pragma GCC unroll 16
  for (size_t k = 0; k < kRegisters; ++k) {
    v[k] = LoadParts<kRowsEach>(
        d, [&](size_t i) HWY_ATTR { return src + static_cast<int64_t>(k * kRowsEach + i) * src_stride; });
  }
  TransposeBlocks<kRows>(d, v);
#pragma GCC unroll 16
  for (size_t k = 0; k < kRegisters; ++k) {
    StoreParts<kColsEach>(d, v[k],
                          [&](size_t j) HWY_ATTR { return dst + static_cast<int64_t>(k * kColsEach + j) * dst_stride; });
  }
}

/// Rows and columns of whole tiles at least; the last tiles overlap those before them.
template <class T, size_t kRows, size_t kCols>
void PartTiles(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows, int64_t cols) {
  constexpr int64_t kHeight = kRows, kWidth = kCols, S = sizeof(T);
  for (int64_t r = 0; r < rows; r += kHeight) {
    const int64_t i = std::min(r, rows - kHeight);
    for (int64_t c = 0; c < cols; c += kWidth) {
      const int64_t j = std::min(c, cols - kWidth);
      PartTile<T, kRows, kCols>(src + i * src_stride + j * S, src_stride, dst + j * dst_stride + i * S, dst_stride);
    }
  }
}

template <class T, size_t kRows, size_t kCols>
constexpr TransposeTile PartTilesOf() {
  constexpr size_t N = 16 / sizeof(T);
  if constexpr (kRows * kCols >= 2 * N && kRows * kCols < N * N) {
    return PartTiles<T, kRows, kCols>;
  } else {
    return ScalarTile<T>;
  }
}

/// Of fewer rows or columns than 128 bits have elements, by tiles of half or a quarter of them.
template <class T>
void NarrowTiles(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows, int64_t cols) {
  constexpr size_t N = 16 / sizeof(T), kQuarter = std::max<size_t>(N / 4, 1);
  constexpr TransposeTile kTiles[3][3] = {
      {PartTilesOf<T, kQuarter, kQuarter>(), PartTilesOf<T, kQuarter, N / 2>(), PartTilesOf<T, kQuarter, N>()},
      {PartTilesOf<T, N / 2, kQuarter>(), PartTilesOf<T, N / 2, N / 2>(), PartTilesOf<T, N / 2, N>()},
      {PartTilesOf<T, N, kQuarter>(), PartTilesOf<T, N, N / 2>(), ScalarTile<T>}};
  const auto size = [](int64_t n) { return n >= static_cast<int64_t>(N) ? 2 : n >= static_cast<int64_t>(N / 2) ? 1 : 0; };
  const bool vectors = std::min(rows, cols) >= static_cast<int64_t>(kQuarter);
  (vectors ? kTiles[size(rows)][size(cols)] : ScalarTile<T>)(src, src_stride, dst, dst_stride, rows, cols);
}

/// Columns at the end that do not fill a tile are done by a tile that overlaps the one before.
template <class T, size_t kBlocks>
HWY_INLINE void TileRow(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows,
                        int64_t cols) {
  constexpr int64_t N = 16 / sizeof(T), W = N * static_cast<int64_t>(kBlocks), S = sizeof(T);
  for (int64_t c = 0; c < cols; c += N) {
    const int64_t j = std::min(c, cols - N);
    for (int64_t r = 0; r < rows; r += W) {
      const int64_t i = std::min(r, rows - W);
      VectorTile<T, kBlocks>(src + i * src_stride + j * S, src_stride, dst + j * dst_stride + i * S, dst_stride);
    }
  }
}

/// [rows][C] -> [C][rows] where the source is dense.
template <class T, int C>
HWY_INLINE int64_t Deinterleave(const std::byte* src, std::byte* dst, int64_t dst_stride, int64_t rows) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), S = sizeof(T);
  hn::Vec<decltype(d)> v0, v1, v2, v3;
  int64_t i = 0;
  for (; i + lanes <= rows; i += lanes) {
    const T* from = At<T>(src, i * C * S);
    if constexpr (C == 2) hn::LoadInterleaved2(d, from, v0, v1);
    if constexpr (C == 3) hn::LoadInterleaved3(d, from, v0, v1, v2);
    if constexpr (C == 4) hn::LoadInterleaved4(d, from, v0, v1, v2, v3);
    hn::StoreU(v0, d, At<T>(dst, i * S));
    hn::StoreU(v1, d, At<T>(dst, dst_stride + i * S));
    if constexpr (C > 2) hn::StoreU(v2, d, At<T>(dst, 2 * dst_stride + i * S));
    if constexpr (C > 3) hn::StoreU(v3, d, At<T>(dst, 3 * dst_stride + i * S));
  }
  return i;
}

/// [C][cols] -> [cols][C] where the destination is dense.
template <class T, int C>
HWY_INLINE int64_t Interleave(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t cols) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), S = sizeof(T);
  int64_t j = 0;
  for (; j + lanes <= cols; j += lanes) {
    const auto v0 = hn::LoadU(d, At<T>(src, j * S));
    const auto v1 = hn::LoadU(d, At<T>(src, src_stride + j * S));
    T* to = At<T>(dst, j * C * S);
    if constexpr (C == 2) {
      hn::StoreInterleaved2(v0, v1, d, to);
    } else {
      const auto v2 = hn::LoadU(d, At<T>(src, 2 * src_stride + j * S));
      if constexpr (C == 3) {
        hn::StoreInterleaved3(v0, v1, v2, d, to);
      } else {
        hn::StoreInterleaved4(v0, v1, v2, hn::LoadU(d, At<T>(src, 3 * src_stride + j * S)), d, to);
      }
    }
  }
  return j;
}

#if HWY_TARGET == HWY_AVX3
/// Squares of 16 by 16 elements of four bytes, whatever they are. The last ones overlap those before them.
void SquareTiles(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows, int64_t cols) {
  constexpr int64_t kSide = static_cast<int64_t>(HWY_LANES(float)), S = sizeof(float);
  const hn::ScalableTag<float> d;
  for (int64_t r = 0; r < rows; r += kSide) {
    const int64_t i = std::min(r, rows - kSide);
    for (int64_t c = 0; c < cols; c += kSide) {
      const int64_t j = std::min(c, cols - kSide);
      FloatVector v[kSide];
#pragma GCC unroll 16
      for (int64_t k = 0; k < kSide; ++k) v[k] = hn::LoadU(d, At<float>(src, (i + k) * src_stride + j * S));
      TransposeSquare(v);
#pragma GCC unroll 16
      for (int64_t k = 0; k < kSide; ++k) hn::StoreU(v[k], d, At<float>(dst, (j + k) * dst_stride + i * S));
    }
  }
}
#endif

template <class T>
void Tile(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows, int64_t cols) {
  constexpr int64_t S = sizeof(T), N = 16 / S, kBlocks = HWY_MAX_BYTES >= 32 ? 2 : 1, W = N * kBlocks;
  constexpr int64_t kRowTile = 128 / S;  // two cache lines of a destination row
  if (cols <= 4 && src_stride == cols * S) {
    const int64_t done = cols == 2   ? Deinterleave<T, 2>(src, dst, dst_stride, rows)
                         : cols == 3 ? Deinterleave<T, 3>(src, dst, dst_stride, rows)
                         : cols == 4 ? Deinterleave<T, 4>(src, dst, dst_stride, rows)
                                     : 0;
    return ScalarTile<T>(src + done * src_stride, src_stride, dst + done * S, dst_stride, rows - done, cols);
  }
  if (rows <= 4 && dst_stride == rows * S) {
    const int64_t done = rows == 2   ? Interleave<T, 2>(src, src_stride, dst, cols)
                         : rows == 3 ? Interleave<T, 3>(src, src_stride, dst, cols)
                         : rows == 4 ? Interleave<T, 4>(src, src_stride, dst, cols)
                                     : 0;
    return ScalarTile<T>(src + done * S, src_stride, dst + done * dst_stride, dst_stride, rows, cols - done);
  }
  if (cols < N || rows < N) return NarrowTiles<T>(src, src_stride, dst, dst_stride, rows, cols);
  if (rows < W) return TileRow<T, 1>(src, src_stride, dst, dst_stride, rows, cols);
#if HWY_TARGET == HWY_AVX3
  if (S == sizeof(float) && std::min(rows, cols) >= static_cast<int64_t>(HWY_LANES(float))) {
    return SquareTiles(src, src_stride, dst, dst_stride, rows, cols);
  }
#endif
  for (int64_t r = 0; r < rows; r += kRowTile) {
    const int64_t i = std::max<int64_t>(0, std::min(r, rows - W)), count = std::min(kRowTile, rows - i);
    TileRow<T, kBlocks>(src + i * src_stride, src_stride, dst + i * S, dst_stride, count, cols);
  }
}

void Tile16(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows, int64_t cols) {
  const hn::FixedTag<uint8_t, 16> d;
  for (int64_t r = 0; r < rows; r += 8) {
    const int64_t end = std::min<int64_t>(r + 8, rows);
    for (int64_t j = 0; j < cols; ++j) {
      for (int64_t i = r; i < end; ++i) {
        hn::StoreU(hn::LoadU(d, At<uint8_t>(src, i * src_stride + j * 16)), d, At<uint8_t>(dst, j * dst_stride + i * 16));
      }
    }
  }
}

TransposeTile SelectTile(int64_t element_bytes) {
  switch (element_bytes) {
    case 1: return Tile<uint8_t>;
    case 2: return Tile<uint16_t>;
    case 4: return Tile<uint32_t>;
    case 8: return Tile<uint64_t>;
    default: return Tile16;
  }
}

template <class T>
void Broadcast(const std::byte* src, int64_t, std::byte* dst, int64_t, int64_t count) {
  T value;
  std::memcpy(&value, src, sizeof(T));
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), S = sizeof(T);
  const auto v = hn::Set(d, value);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(v, d, At<T>(dst, i * S));
  for (; i < count; ++i) std::memcpy(dst + i * S, &value, sizeof(T));
}

template <class T>
void Reversed(const std::byte* src, int64_t, std::byte* dst, int64_t, int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), S = sizeof(T);
  int64_t i = 0;
  if constexpr (sizeof(T) > 1) {
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(hn::Reverse(d, hn::LoadU(d, At<T>(src, -(i + lanes - 1) * S))), d, At<T>(dst, i * S));
    }
  }
  for (; i < count; ++i) std::memcpy(dst + i * S, src - i * S, sizeof(T));
}

template <class T>
void EverySecond(const std::byte* src, int64_t, std::byte* dst, int64_t, int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), S = sizeof(T);
  int64_t i = 0;
  // Strictly less: the element after the last one wanted may be outside of the source.
  for (; i + lanes < count; i += lanes) {
    hn::Vec<decltype(d)> even, odd;
    hn::LoadInterleaved2(d, At<T>(src, 2 * i * S), even, odd);
    hn::StoreU(even, d, At<T>(dst, i * S));
  }
  for (; i < count; ++i) std::memcpy(dst + i * S, src + 2 * i * S, sizeof(T));
}

template <class T>
StridedLoad SelectLoadOf(int64_t src_stride) {
  constexpr int64_t S = sizeof(T);
  if (src_stride == 0) return Broadcast<T>;
  if (src_stride == -S) return Reversed<T>;
  if (src_stride == 2 * S) return EverySecond<T>;
  return nullptr;
}

StridedLoad SelectLoad(int64_t element_bytes, int64_t src_stride) {
  switch (element_bytes) {
    case 1: return SelectLoadOf<uint8_t>(src_stride);
    case 2: return SelectLoadOf<uint16_t>(src_stride);
    case 4: return SelectLoadOf<uint32_t>(src_stride);
    case 8: return SelectLoadOf<uint64_t>(src_stride);
    default: return nullptr;
  }
}

void RepeatRowOf(const std::byte* HWY_RESTRICT src, std::byte* HWY_RESTRICT dst, int64_t rows, int64_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  static_assert(HWY_LANES(uint8_t) <= kRepeatedBytes);
  // Stores alone wait for cache lines that the last cache has, one after the other.
  constexpr int64_t kCacheLine = 64, kCacheLinesAhead = 16;
  const auto copy = [&](int64_t at) HWY_ATTR { hn::StoreU(hn::LoadU(d, At<uint8_t>(src, at)), d, At<uint8_t>(dst, at)); };
  for (int64_t r = 0; r < rows; ++r, dst += bytes) {
    int64_t at = 0;
    for (; at + 4 * lanes <= bytes; at += 4 * lanes) {
      for (int64_t at_line = at; at_line < at + 4 * lanes; at_line += kCacheLine)
        __builtin_prefetch(dst + at_line + kCacheLinesAhead * kCacheLine, 1);
      copy(at);
      copy(at + lanes);
      copy(at + 2 * lanes);
      copy(at + 3 * lanes);
    }
    for (; at + lanes <= bytes; at += lanes) copy(at);
    if (at < bytes) copy(bytes - lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(SelectTile);
HWY_EXPORT(SelectLoad);
TransposeTile TransposeTileOf(int64_t element_bytes) { return HWY_DYNAMIC_DISPATCH(SelectTile)(element_bytes); }
StridedLoad StridedLoadOf(int64_t element_bytes, int64_t src_stride) {
  return HWY_DYNAMIC_DISPATCH(SelectLoad)(element_bytes, src_stride);
}
HWY_EXPORT(RepeatRowOf);
void RepeatRow(const std::byte* src, std::byte* dst, int64_t rows, int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(RepeatRowOf)(src, dst, rows, bytes);
}
}  // namespace tessera::cpu
#endif
