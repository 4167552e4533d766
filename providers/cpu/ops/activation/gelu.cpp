// Gelu (20).

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/activation/gelu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise_row-inl.h"
#include "kernels/elementwise/math-inl.h"
#include "ops/activation/gelu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr ElementwiseRow kGelu = TESSERA_VECTOR_UNARY(Gelu, 20, kFloats, vmath::Gelu(d, x)).Costs(1, 5);
constexpr ElementwiseRow kGeluByTanh = TESSERA_VECTOR_UNARY(Gelu, 20, kFloats, vmath::GeluByTanh(d, x)).Costs(1, 5);

}  // namespace

const ElementwiseRow& GeluRow(bool by_tanh) { return by_tanh ? kGeluByTanh : kGelu; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(GeluRow);

void RegisterGelu(KernelRegistry& registry) {
  registry.Add(ToKernelDef(HWY_DYNAMIC_DISPATCH(GeluRow)(false), 1, [](const KernelInfo& info) {
    return MakeUnary(HWY_DYNAMIC_DISPATCH(GeluRow)(GeluAttributes(info.node()).tanh), info);
  }));
}

}  // namespace tessera::cpu
#endif
