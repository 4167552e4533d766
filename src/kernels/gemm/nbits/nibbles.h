#pragma once

// Quantized values of 4 bits, two to a byte, the lower first.

#include <cstdint>

namespace tessera::cpu {

/// y = (value - 8) * scale for the first `count` values of `packed`; the scale advances by `step` (0 or 1) for each.
void DequantizeNibbles(const uint8_t* packed, const float* scales, int64_t step, float* y, int64_t count);

/// The first `count` of values below 16 to (count + 1) / 2 bytes; an odd one is joined by an 8, which stands for 0.
void PackNibbles(const uint8_t* quantized, int64_t count, uint8_t* packed);

}  // namespace tessera::cpu
