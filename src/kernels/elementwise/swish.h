#pragma once

// Activations of a row in place, and steps that keep NaN in a row.

#include <cstdint>

namespace tessera::cpu {

/// x / (1 + exp(-alpha * x))
void SwishRow(float* row, int64_t count, float alpha);

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
void FastGeluRow(float* row, int64_t count);

/// to = from between the bounds; NaN stays. `to` may be `from`.
void ClipRow(const float* from, int64_t count, float low, float high, float* to);

/// to = the larger of the two; NaN is larger than any number.
void RaiseRow(const float* from, int64_t count, float* to);

/// to = NaN where `from` is.
void MarkNanRow(const float* from, int64_t count, float* to);

}  // namespace tessera::cpu
