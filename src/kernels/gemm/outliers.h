#pragma once

// Pairs of weights whose products with bytes would saturate stand aside as a sparse matrix; few of them meet the rows of
// the other operand turned, so that a vector holds the same pair of many rows.

#include "kernels/gemm/gemm_u8s8.h"

namespace tessera::cpu {

/// Rows that are turned together.
inline constexpr int64_t kTransposedRows = 16;

/// Numbers of 16 bits of kTransposedRows turned rows of k bytes.
inline int64_t TransposedSize(int64_t k) { return (k + 1) / 2 * 2 * kTransposedRows; }

/// Pairs of up to kTransposedRows rows, `row` bytes apart, of k bytes and a zero where k is odd: pair after pair, row after
/// row.
void TransposePairs(const uint8_t* from, int64_t row, int64_t rows, int64_t k, int16_t* to);

/// Adds to sums[r * width + i] what the packed weights of line `first` + i lack, for rows [m, m + rows) and `width` lines;
/// m is a multiple of kTransposedRows, and so are the rows that `sums` has room for.
void AddCorrections(const PackedWeightsS8& lines, const int16_t* turned, int64_t m, int64_t rows, int64_t first,
                    int64_t width, int32_t* sums);

}  // namespace tessera::cpu
