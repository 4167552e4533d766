// DequantizeLinear (10-25).

#include "opencl/ops/linear_quantization.h"

namespace tessera::opencl {

void RegisterDequantizeLinear(KernelRegistry& registry) {
  registry.Add(Op("DequantizeLinear")
                   .Versions(10)
                   .Types(0, kQuantized | TypeSet{ElementType::kInt32} | kFloat8s | kPackedIntegers)
                   .Types(1, kScales)
                   .OutputTypes(0, kScales)
                   .Factory(MakeLinearQuantization));
}

}  // namespace tessera::opencl
