#pragma once

// Rows of 16-bit floats to and from float, vectorized.

#include <cstdint>

#include "tessera/numeric.h"

namespace tessera::cpu {

void ToFloat(const Float16* in, float* out, int64_t count);
void ToFloat(const BFloat16* in, float* out, int64_t count);
void FromFloat(const float* in, Float16* out, int64_t count);
void FromFloat(const float* in, BFloat16* out, int64_t count);

}  // namespace tessera::cpu
