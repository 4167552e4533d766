#pragma once

// What QuantizeLinear and DequantizeLinear share: one scale, one for each index of an axis, or for each block. Integers of
// 2 to 16 bits, floats of 8.

#include <memory>

#include "opencl/gemm/quantized_operands.h"

namespace tessera::opencl {

inline constexpr TypeSet kQuantized = {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16};

/// Both directions: they differ in their kernel only.
std::unique_ptr<Kernel> MakeLinearQuantization(const KernelInfo& info);

}  // namespace tessera::opencl
