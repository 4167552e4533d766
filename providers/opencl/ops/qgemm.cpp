// QGemm, com.microsoft, version 1.

#include <string>

#include "opencl/claims/refusals.h"
#include "opencl/gemm/quantized_operands.h"
#include "opencl/ops/integer_matmul.h"
#include "ops/math/gemm.h"

namespace tessera::opencl {
namespace {

/// Of A B with a bias for each column, what QLinearMatMul lacks; the optimizer makes no others.
std::string QGemmRefusal(const NodeInfo& info) {
  if (!info.has_input(7)) return "results that are not quantized are left to the CPU provider";
  const GemmAttributes attributes(info.node());
  if (attributes.trans_a || attributes.trans_b) return "transposed operands are left to the CPU provider";
  if (attributes.alpha != 1) return "an alpha is left to the CPU provider";
  if (!info.has_input(6)) return {};
  const auto &bias = info.input_info(6).shape, &b = info.input_info(3).shape;
  const bool by_column = bias && b && bias->size() == 1 && b->size() == 2 && (*bias)[0].known() && (*b)[1].known() &&
                         (*bias)[0].value == (*b)[1].value;
  return by_column ? "" : "a bias that is not one for each column is left to the CPU provider";
}

}  // namespace

void RegisterQGemm(KernelRegistry& registry) {
  registry.Add(Op("QGemm", "com.microsoft")
                   .Types(0, kInt8s)
                   .Types(3, kInt8s)
                   .OutputTypes(0, kInt8s)
                   .Unless(QGemmRefusal)
                   .Unless([](const NodeInfo& info) { return ScaleRefusal(info, {1, 2, 7, 8}, {4, 5}); })
                   .Factory(MakeIntegerMatMul));
}

}  // namespace tessera::opencl
