// FastGelu, com.microsoft, version 1.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/microsoft/fast_gelu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise_row-inl.h"
#include "cpu/ops/microsoft/bias_gelu.h"
#include "kernels/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr ElementwiseRow kFastGelu =
    TESSERA_VECTOR_UNARY(FastGelu, 1, kFloats, vmath::GeluByTanh(d, x)).Of("com.microsoft").Costs(1, 5);
constexpr ElementwiseRow kBiasFastGelu =
    TESSERA_VECTOR_BINARY(FastGelu, 1, kFloats, vmath::GeluByTanh(d, hn::Add(a, b))).Of("com.microsoft").Costs(1, 5);

}  // namespace

const ElementwiseRow& FastGeluRow(bool biased) { return biased ? kBiasFastGelu : kFastGelu; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FastGeluRow);

namespace {

std::unique_ptr<Kernel> MakeFastGelu(const KernelInfo& info) {
  const bool biased = info.has_input(1);
  const ElementwiseRow& row = HWY_DYNAMIC_DISPATCH(FastGeluRow)(biased);
  if (biased) return std::make_unique<BiasGeluKernel>(info, ToElementwise(row, info));
  return MakeUnary(row, info);
}

}  // namespace

void RegisterFastGelu(KernelRegistry& registry) {
  registry.Add(ToKernelDef(HWY_DYNAMIC_DISPATCH(FastGeluRow)(false), 1, MakeFastGelu));
}

}  // namespace tessera::cpu
#endif
