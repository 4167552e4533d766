// QLinearConv (10).

#include "opencl/claims/refusals.h"
#include "opencl/gemm/quantized_operands.h"
#include "opencl/ops/integer_conv.h"

namespace tessera::opencl {

void RegisterQLinearConv(KernelRegistry& registry) {
  registry.Add(Op("QLinearConv")
                   .Versions(10)
                   .Types(0, kInt8s)
                   .Types(3, kInt8s)
                   .OutputTypes(0, kInt8s)
                   .Unless([](const NodeInfo& info) { return ScaleRefusal(info, {1, 2, 6, 7}, {4, 5}); })
                   .Factory(MakeIntegerConv));
}

}  // namespace tessera::opencl
