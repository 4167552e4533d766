#pragma once

// What MatMulInteger, MatMulIntegerToFloat, QGemm and QLinearMatMul share: matmuls of 8-bit integers. One scale and zero
// point for A and Y; one, or one a column, for B.

#include <memory>

#include "tessera/provider/kernel.h"

namespace tessera::opencl {

std::unique_ptr<Kernel> MakeIntegerMatMul(const KernelInfo& info);

}  // namespace tessera::opencl
