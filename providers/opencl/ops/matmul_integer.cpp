// MatMulInteger (10).

#include "opencl/claims/refusals.h"
#include "opencl/gemm/quantized_operands.h"
#include "opencl/ops/integer_matmul.h"

namespace tessera::opencl {

void RegisterMatMulInteger(KernelRegistry& registry) {
  registry.Add(Op("MatMulInteger")
                   .Versions(10)
                   .Types(0, kInt8s)
                   .Types(1, kInt8s)
                   .Unless([](const NodeInfo& info) { return ScaleRefusal(info, {2}, {3}); })
                   .Factory(MakeIntegerMatMul));
}

}  // namespace tessera::opencl
