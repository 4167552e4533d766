#pragma once

// Products with rows that are quantized to 8 bits, for models that ask for no more (accuracy_level 4): of weights of 4 bits, and
// of 8 bits whose codes are all below 128.

#include "simd/nbits.h"

namespace tessera::cpu {

/// Rows of A: the codes of each group of numbers (8 beside weights of 4 bits, 4 beside 8), and the scale that it shares with the
/// others of its unit of up to 32; sums of what the codes stand for, of each unit (at its first group) and of each block of the
/// weights.
struct QuantizedRows {
  int8_t* codes;      // rows are QuantizedNBitsSize() apart
  float* scales;      // NBitsGroups() apart
  float* unit_sums;   // NBitsGroups() apart
  int32_t* starts;    // of each group, what sums of it with codes begin with to allow for a common zero point; NBitsGroups() apart
  float* block_sums;  // `blocks` apart

  QuantizedRows From(const NBitsWeights& weights, int64_t groups, int64_t row) const {
    return {codes + row * groups * (32 / weights.bits), scales + row * groups, unit_sums + row * groups, starts + row * groups,
            block_sums + row * weights.blocks};
  }
};

int64_t NBitsGroups(const NBitsWeights& weights);
inline int64_t QuantizedNBitsSize(const NBitsWeights& weights) { return NBitsGroups(weights) * (32 / weights.bits); }
/// Rows of weights that MultiplyNBitsInt8Panels takes together.
int64_t NBitsInt8Width();

/// Quantizes one row of k floats.
void QuantizeForNBits(const NBitsWeights& weights, const float* a, const QuantizedRows& to);

/// As MultiplyNBits, for up to kNBitsRows rows.
void MultiplyNBitsInt8(const NBitsWeights& weights, int64_t rows, const QuantizedRows& a, int64_t begin, int64_t end, const float* bias,
                       float* c, int64_t c_row);

/// Rows [m0, m1) of A times rows [n0, n1) of the weights; `c` is the whole result.
void MultiplyNBitsInt8Panels(const NBitsWeights& weights, const QuantizedRows& a, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                             const float* bias, float* c, int64_t c_row);

}  // namespace tessera::cpu
