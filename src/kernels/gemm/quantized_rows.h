#pragma once

// Rows of floats that become integers of up to 16 bits while a model runs, each with a scale of its own, and their exact
// products with bytes, which become floats again.

#include <cstdint>

#include "kernels/gemm/gemm_u8s8.h"

namespace tessera::cpu {

struct QuantizedRow {
  float scale;  // what one stands for: not finite where a float is not
  float sum;    // of the integers
};

/// Floats as integers of at most `most`, padded to whole pairs. Floats whose largest is below 2^-126 * most count as 0.
QuantizedRow QuantizeToPairs(const float* in, int64_t k, int32_t most, int16_t* out);

/// What is added to integers that become limbs.
inline constexpr int32_t kLimbOffset = 1 << 15;

/// The same integers as two unsigned bytes each, of kLimbOffset more, in rows of their own, which zeros pad to a multiple
/// of 4.
QuantizedRow QuantizeToLimbs(const float* in, int64_t k, int32_t most, uint8_t* low, uint8_t* high);

/// What both sums of limbs need so that low + 256 * high, modulo 2^32, is the sum of the integers: `weights` is that of
/// what they were multiplied by. 257 of it are what kLimbOffset added.
constexpr uint32_t LimbTerm(int32_t weights) {
  constexpr uint32_t kInverse = 0xff00ff01;  // of 257
  static_assert(kInverse * 257 == 1);
  return 0u - static_cast<uint32_t>(weights) * kLimbOffset * kInverse;
}

/// Scales that columns of B are multiplied by, and zero points that are subtracted before that. Both advance by their
/// step.
struct ColumnScales {
  const float* scales;
  int64_t scale_step;
  const float* zeros;  // null: none
  int64_t zero_step;
};

/// The accumulators of a row.
struct RowSums {
  const int32_t* low;
  const int32_t* high;  // of limbs, counted 256 times; null: none
};

/// out[i] += (sums[i] - zeros[i] * row.sum) * row.scale * scales[i].
void AddScaled(const RowSums& sums, int64_t count, const QuantizedRow& row, const ColumnScales& columns, float* out);

/// Rows of limbs, `row` bytes apart.
struct LimbRows {
  const uint8_t *low, *high;
  int64_t row, count;
  const QuantizedRow* quantized;
};

/// The same of limbs' GEMM with panels [b0, b1) of weights, PanelLayout::kVectors, by dot products (VNNI), which the
/// processor has. `terms`: LimbTerm of each column, padded to whole panels. Rows of `out` are `out_row` apart.
void AddLimbGemm(const PackedWeightsS8& weights, const int32_t* terms, const LimbRows& rows, const ColumnScales& columns,
                 int64_t b0, int64_t b1, float* out, int64_t out_row);

}  // namespace tessera::cpu
