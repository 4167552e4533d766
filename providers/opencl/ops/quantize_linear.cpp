// QuantizeLinear (10-25).

#include <string>

#include "opencl/ops/linear_quantization.h"
#include "ops/quantization/quantize_linear.h"

namespace tessera::opencl {
namespace {

std::string QuotientRefusal(const NodeInfo& info) {
  const bool in_double = QuantizeLinearAttributes(info.node()).rounding() == ElementType::kDouble;
  return in_double ? "quotients in double are left to the CPU provider" : "";
}

}  // namespace

void RegisterQuantizeLinear(KernelRegistry& registry) {
  registry.Add(Op("QuantizeLinear")
                   .Versions(10)
                   .Types(0, kScales)
                   .Types(1, kScales)
                   .OutputTypes(0, kQuantized | kFloat8s | kPackedIntegers)
                   .Unless(QuotientRefusal)
                   .Factory(MakeLinearQuantization));
}

}  // namespace tessera::opencl
