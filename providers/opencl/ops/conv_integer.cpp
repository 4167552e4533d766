// ConvInteger (10).

#include "opencl/claims/refusals.h"
#include "opencl/gemm/quantized_operands.h"
#include "opencl/ops/integer_conv.h"

namespace tessera::opencl {

void RegisterConvInteger(KernelRegistry& registry) {
  registry.Add(Op("ConvInteger")
                   .Versions(10)
                   .Types(0, kInt8s)
                   .Types(1, kInt8s)
                   .Unless([](const NodeInfo& info) { return ScaleRefusal(info, {2}, {3}); })
                   .Factory(MakeIntegerConv));
}

}  // namespace tessera::opencl
