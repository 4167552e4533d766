#pragma once

// Micro-kernels of data movement; element sizes are 1, 2, 4, 8 or 16 bytes, strides count bytes, pointers need no
// alignment.

#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

/// dst[j][i] = src[i][j] for i < rows, j < cols: rows of src are src_stride apart, rows of dst dst_stride.
using TransposeTile = void (*)(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows,
                               int64_t cols);
TransposeTile TransposeTileOf(int64_t element_bytes);

/// Contiguous dst from a source stride that has a fast path (0, -1 and 2 elements); null for others.
using StridedLoad = void (*)(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t count);
StridedLoad StridedLoadOf(int64_t element_bytes, int64_t src_stride);

/// Copies `bytes` >= kRepeatedBytes of src to each of `rows` rows that follow each other.
inline constexpr int64_t kRepeatedBytes = 64;
void RepeatRow(const std::byte* src, std::byte* dst, int64_t rows, int64_t bytes);

}  // namespace tessera::cpu
