// QLinearMatMul (10, 21).

#include "opencl/claims/refusals.h"
#include "opencl/gemm/quantized_operands.h"
#include "opencl/ops/integer_matmul.h"

namespace tessera::opencl {

void RegisterQLinearMatMul(KernelRegistry& registry) {
  registry.Add(Op("QLinearMatMul")
                   .Versions(10)
                   .Types(0, kInt8s)
                   .Types(1, kScales)
                   .Types(3, kInt8s)
                   .OutputTypes(0, kInt8s)
                   .Unless([](const NodeInfo& info) { return ScaleRefusal(info, {1, 2, 6, 7}, {4, 5}); })
                   .Factory(MakeIntegerMatMul));
}

}  // namespace tessera::opencl
