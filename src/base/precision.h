#pragma once

// Names by which a session's precision reaches providers and kernels.

#include <cstdint>
#include <string_view>

#include "tessera/provider/precision.h"  // IWYU pragma: export

namespace tessera {

/// Option of providers that lets them round operands of matmuls: the precision's name.
inline constexpr std::string_view kPrecisionOption = "precision";

/// accuracy_level of com.microsoft's MatMulNBits that lets its first operand be quantized to 8 bits.
inline constexpr int64_t kInt8AccuracyLevel = 4;

}  // namespace tessera
