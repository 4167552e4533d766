// BiasGelu, com.microsoft, version 1.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/microsoft/bias_gelu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise_row-inl.h"
#include "cpu/ops/microsoft/bias_gelu.h"
#include "kernels/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr ElementwiseRow kBiasGelu =
    TESSERA_VECTOR_BINARY(BiasGelu, 1, kFloats, vmath::Gelu(d, hn::Add(a, b))).Of("com.microsoft").Costs(1, 5);

}  // namespace

const ElementwiseRow& BiasGeluRow() { return kBiasGelu; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(BiasGeluRow);

void RegisterBiasGelu(KernelRegistry& registry) {
  registry.Add(ToKernelDef(HWY_DYNAMIC_DISPATCH(BiasGeluRow)(), 1, [](const KernelInfo& info) -> std::unique_ptr<Kernel> {
    return std::make_unique<BiasGeluKernel>(info, ToElementwise(HWY_DYNAMIC_DISPATCH(BiasGeluRow)(), info));
  }));
}

}  // namespace tessera::cpu
#endif
