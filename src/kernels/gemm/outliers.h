#pragma once

// Outliers: pairs of weights whose products with bytes would saturate, as a sparse matrix. They multiply the rows of the
// other operand transposed, so that a vector holds the same pair of many rows, or where that would not pay, as they are.

#include "kernels/gemm/gemm_u8s8.h"

namespace tessera::cpu {

/// Rows that are transposed together.
inline constexpr int64_t kTransposedRows = 16;

/// Output channels whose outliers are added together, or passed over where they have none.
inline constexpr int64_t kOutlierChannels = 4;

/// 16-bit elements of kTransposedRows transposed rows of k bytes.
inline int64_t TransposedSize(int64_t k) { return (k + 1) / 2 * 2 * kTransposedRows; }

/// Pairs of up to kTransposedRows rows, `row` bytes apart, of k bytes and a zero where k is odd: pair after pair, row after
/// row.
void TransposePairs(const uint8_t* from, int64_t row, int64_t rows, int64_t k, int16_t* to);

/// Adds to sums[r * width + i] the outliers of output channel `first` + i, for rows [m, m + rows) and `width` channels;
/// m is a multiple of kTransposedRows, and so is the number of rows of `accumulators`.
void AddOutliers(const PackedWeightsS8& packed, const int16_t* transposed, int64_t m, int64_t rows, int64_t first,
                 int64_t width, int32_t* accumulators);

/// The same for rows that are not transposed, `row` bytes apart from `from` on.
void AddOutliersOfRows(const PackedWeightsS8& packed, const uint8_t* from, int64_t row, int64_t rows, int64_t first,
                       int64_t width, int32_t* accumulators);

/// Whether `rows` rows are to be transposed for the outliers: where these are enough to pay for it. At most two never are.
bool TransposesRows(const PackedWeightsS8& packed, int64_t rows);

}  // namespace tessera::cpu
