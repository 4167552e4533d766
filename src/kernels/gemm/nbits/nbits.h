#pragma once

// GEMM of floats with rows of weights of 2, 4 or 8 bits that have a scale (and a zero point) for each block along k.
// The weights are read as they are stored and become floats in registers.

#include <cstdint>

namespace tessera::cpu {

/// Weights [n, blocks, block_size * bits / 8]: the low bits of a byte come first.
struct NBitsWeights {
  const uint8_t* quantized = nullptr;
  const float* scales = nullptr;       // [n, blocks]
  const uint8_t* zeros = nullptr;      // packed as the weights, each row beginning a byte; or
  const float* float_zeros = nullptr;  // [n, blocks]; with neither, `common_zero` everywhere
  int64_t n = 0;
  int64_t k = 0;
  int64_t blocks = 0;
  int64_t block_size = 0;  // a power of two
  int bits = 4;
  int common_zero = 8;  // 2^(bits - 1) by default

  int64_t block_bytes() const { return block_size * bits / 8; }
  int64_t zero_row_bytes() const { return (blocks * bits + 7) / 8; }
  bool has_common_zero() const { return zeros == nullptr && float_zeros == nullptr; }
  float ZeroOf(int64_t row, int64_t block) const {
    if (float_zeros != nullptr) return float_zeros[row * blocks + block];
    if (zeros == nullptr) return static_cast<float>(common_zero);
    const int64_t bit = block * bits;
    return static_cast<float>((zeros[row * zero_row_bytes() + bit / 8] >> (bit % 8)) & ((1 << bits) - 1));
  }
};

/// The most rows of A for MultiplyNBits.
inline constexpr int64_t kNBitsRows = 4;

/// Floats of an arranged row of A.
int64_t ArrangedNBitsSize(const NBitsWeights& weights);

/// A row of A (k floats) in the order and scaled as MultiplyNBits multiplies it by the weights, and the sum of each block.
void ArrangeForNBits(const NBitsWeights& weights, const float* a, float* arranged, float* block_sums);

/// c[r * c_row + i] = sum over k of arranged row r times weights row i, for rows [begin, end) of the weights; `rows` up to
/// kNBitsRows. Arranged rows are ArrangedNBitsSize() apart, their sums `blocks`.
void MultiplyNBits(const NBitsWeights& weights, int64_t rows, const float* arranged, const float* block_sums, int64_t begin,
                   int64_t end, const float* bias, float* c, int64_t c_row);

/// Weights [k0, k0 + kc) of rows [n0, n0 + width) as floats, as a panel of the float GEMM
/// (GemmPanelSource::Pack).
void DequantizeNBitsPanel(const NBitsWeights& weights, int64_t k0, int64_t kc, int64_t n0, int64_t width, float* out);

}  // namespace tessera::cpu
