#pragma once

// One channel of a causal convolution over time.

#include <cstdint>

namespace tessera::cpu {

/// out[t] = bias + the sum over j < k of weight[j] * x[t + j]; x has count + k - 1 elements.
void CausalConvRow(const float* x, const float* weight, int64_t k, float bias, int64_t count, float* out);

}  // namespace tessera::cpu
