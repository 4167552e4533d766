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

/// x/2 (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3), with ONNX Runtime's digits.
template <class D, class V>
HWY_INLINE V GeluByTanh(D d, V x) {
  using T = hn::TFromD<D>;
  const V inner = hn::MulAdd(hn::Mul(x, x), hn::Set(d, T(2 * 0.035677408136300125)), hn::Set(d, T(2 * 0.7978845608028654)));
  return hn::Mul(x, vmath::Sigmoid(d, hn::Mul(x, inner)));
}

constexpr ElementwiseRow kFastGelu =
    TESSERA_VECTOR_UNARY(FastGelu, 1, kFloats, GeluByTanh(d, x)).Of("com.microsoft").Costs(1, 5);
constexpr ElementwiseRow kBiasFastGelu =
    TESSERA_VECTOR_BINARY(FastGelu, 1, kFloats, GeluByTanh(d, hn::Add(a, b))).Of("com.microsoft").Costs(1, 5);

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
