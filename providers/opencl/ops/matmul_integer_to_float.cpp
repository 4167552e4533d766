// MatMulIntegerToFloat, com.microsoft, version 1.

#include "opencl/claims/refusals.h"
#include "opencl/gemm/quantized_operands.h"
#include "opencl/ops/integer_matmul.h"

namespace tessera::opencl {

void RegisterMatMulIntegerToFloat(KernelRegistry& registry) {
  registry.Add(Op("MatMulIntegerToFloat", "com.microsoft")
                   .Types(0, kInt8s)
                   .Types(1, kInt8s)
                   .Types(2, {ElementType::kFloat})
                   .Types(3, {ElementType::kFloat})
                   .Unless([](const NodeInfo& info) { return ScaleRefusal(info, {2, 4}, {3, 5}); })
                   .Factory(MakeIntegerMatMul));
}

}  // namespace tessera::opencl
