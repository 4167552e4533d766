#pragma once

// Activations of a row in place.

#include <cstdint>

namespace tessera::cpu {

/// x / (1 + exp(-alpha * x))
void SwishRow(float* row, int64_t count, float alpha);

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
void FastGeluRow(float* row, int64_t count);

}  // namespace tessera::cpu
