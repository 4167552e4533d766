#pragma once

// GEMM of integers with weights of 4 or 8 bits: rows of A become fixed-point integers, each unit of at most 32 of them
// with a scale of its own. Of one byte, for models that ask for no more (accuracy_level 4). Of three bytes, which is as
// exact as a float accumulator, where the processor has dot products of bytes: so it reads weights faster than it converts
// them.

#include "kernels/gemm/nbits/nbits.h"

namespace tessera::cpu {

/// Bytes of an integer of A.
inline constexpr int kByteLimbs = 1;
inline constexpr int kFloatLimbs = 3;

/// Rows of A: the bytes of each group of integers (8 for weights of 4 bits, 4 for 8), and the scale that it shares
/// with the others of its unit of up to 32; sums of what they stand for, of each unit (at its first group) and of each
/// block of the weights.
struct QuantizedRows {
  int8_t* quantized;  // rows are QuantizedNBitsSize() apart
  float* scales;      // NBitsGroups() apart
  float* unit_sums;   // NBitsGroups() apart
  int32_t* starts;    // of each group, the initial accumulator, by which the weights' values count from elsewhere than 0;
                      // NBitsGroups() apart
  float* block_sums;  // `blocks` apart
  int limbs = kByteLimbs;
  bool few =
      true;  // whether MultiplyQuantizedNBits reads them, which has an order of its own; not MultiplyQuantizedNBitsPanels

  QuantizedRows From(const NBitsWeights& weights, int64_t groups, int64_t row) const {
    return {quantized + row * groups * (32 / weights.bits) * limbs,
            scales + row * groups,
            unit_sums + row * groups,
            starts + row * groups,
            block_sums + row * weights.blocks,
            limbs,
            few};
  }
};

/// Whether kFloatLimbs is faster for floats than a float GEMM.
bool MultipliesNBitsByLimbs(const NBitsWeights& weights);

int64_t NBitsGroups(const NBitsWeights& weights);
inline int64_t QuantizedNBitsSize(const NBitsWeights& weights, int limbs) {
  return NBitsGroups(weights) * (32 / weights.bits) * limbs;
}
/// Rows of weights of a panel of MultiplyQuantizedNBitsPanels.
int64_t QuantizedNBitsWidth();

/// Quantizes one row of k floats. False where kFloatLimbs cannot stand for them: some are not finite, or all of a unit
/// tiny.
bool QuantizeForNBits(const NBitsWeights& weights, const float* a, const QuantizedRows& to);

/// As MultiplyNBits, for up to kNBitsRows rows.
void MultiplyQuantizedNBits(const NBitsWeights& weights, int64_t rows, const QuantizedRows& a, int64_t begin, int64_t end,
                            const float* bias, float* c, int64_t c_row);

/// Rows [m0, m1) of A times rows [n0, n1) of the weights; `c` is the whole result. Beside weights of 8 bits A has
/// kByteLimbs.
void MultiplyQuantizedNBitsPanels(const NBitsWeights& weights, const QuantizedRows& a, int64_t m0, int64_t m1, int64_t n0,
                                  int64_t n1, const float* bias, float* c, int64_t c_row);

}  // namespace tessera::cpu
