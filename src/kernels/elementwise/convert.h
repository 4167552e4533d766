#pragma once

// Bulk conversion between float and the narrower floating-point types. Source and target may not overlap.

#include <cstdint>

#include "tessera/numeric.h"

namespace tessera::cpu {

void ConvertToFloat(const Float16* from, float* to, int64_t count);
void ConvertToFloat(const BFloat16* from, float* to, int64_t count);
/// Rounds to nearest even; overflow gives infinity.
void ConvertFromFloat(const float* from, Float16* to, int64_t count);
void ConvertFromFloat(const float* from, BFloat16* to, int64_t count);

/// For templates over the type: plain copies.
void ConvertToFloat(const float* from, float* to, int64_t count);
void ConvertFromFloat(const float* from, float* to, int64_t count);

/// One byte for each element (unpack 4-bit types first, see engine/packed.h).
void ConvertToFloat(const Float8E4M3FN* from, float* to, int64_t count);
void ConvertToFloat(const Float8E4M3FNUZ* from, float* to, int64_t count);
void ConvertToFloat(const Float8E5M2* from, float* to, int64_t count);
void ConvertToFloat(const Float8E5M2FNUZ* from, float* to, int64_t count);
void ConvertToFloat(const Float8E8M0* from, float* to, int64_t count);
void ConvertToFloat(const Float4E2M1* from, float* to, int64_t count);
void ConvertToFloat(const Float6E2M3* from, float* to, int64_t count);
void ConvertToFloat(const Float6E3M2* from, float* to, int64_t count);
void ConvertFromFloat(const float* from, Float8E4M3FN* to, int64_t count, bool saturate = true);
void ConvertFromFloat(const float* from, Float8E4M3FNUZ* to, int64_t count, bool saturate = true);
void ConvertFromFloat(const float* from, Float8E5M2* to, int64_t count, bool saturate = true);
void ConvertFromFloat(const float* from, Float8E5M2FNUZ* to, int64_t count, bool saturate = true);
void ConvertFromFloat(const float* from, Float8E8M0* to, int64_t count, bool saturate = true,
                      ScaleRounding rounding = ScaleRounding::kUp);
void ConvertFromFloat(const float* from, Float4E2M1* to, int64_t count, bool saturate = true);
void ConvertFromFloat(const float* from, Float6E2M3* to, int64_t count, bool saturate = true);
void ConvertFromFloat(const float* from, Float6E3M2* to, int64_t count, bool saturate = true);

}  // namespace tessera::cpu
