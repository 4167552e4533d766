#pragma once

#include <cstdint>

namespace tessera::cpu {

/// The sum of each of `planes` planes of `size` bytes, one after the other; signed bytes where `is_signed`.
void SumBytes(const uint8_t* bytes, bool is_signed, int64_t planes, int64_t size, int64_t* sums);

/// Means of quantized values, quantized: round((sum / elements - zero) * scale / result_scale) + result_zero.
struct QuantizedMean {
  bool is_signed;
  int64_t elements;  // at most kMostOfQuantizedMean
  float zero, scale;
  float result_scale, result_zero;
};
/// So that float holds the sums.
inline constexpr int64_t kMostOfQuantizedMean = (1 << 24) / 255;

void QuantizeMeans(const QuantizedMean& how, const int64_t* sums, int64_t count, uint8_t* to);

}  // namespace tessera::cpu
