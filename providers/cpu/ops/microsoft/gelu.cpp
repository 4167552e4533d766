// BiasGelu, FastGelu and QuickGelu, com.microsoft, version 1.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/microsoft/gelu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"
#include "kernels/elementwise/math-inl.h"
#include "ops/activation/activation.h"

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

struct BiasGeluOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V bias) const {
    return vmath::Gelu(d, hn::Add(x, bias));
  }
};
struct BiasFastGeluOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V bias) const {
    return GeluByTanh(d, hn::Add(x, bias));
  }
};
struct FastGeluOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return GeluByTanh(d, x);
  }
};
template <class T>
struct QuickGeluOf {
  T alpha;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, vmath::Sigmoid(d, hn::Mul(hn::Set(d, alpha), x)));
  }
};

}  // namespace

SpanLoop FindBiasGeluLoop(ElementType type, bool fast) {
  if (type == ElementType::kDouble)
    return fast ? VectorBinaryLoop<double, BiasFastGeluOf> : VectorBinaryLoop<double, BiasGeluOf>;
  return fast ? VectorBinaryLoop<float, BiasFastGeluOf> : VectorBinaryLoop<float, BiasGeluOf>;
}
SpanLoop FindFastGeluLoop(ElementType type) {
  return type == ElementType::kDouble ? VectorUnaryLoop<double, FastGeluOf> : VectorUnaryLoop<float, FastGeluOf>;
}
SpanLoop FindQuickGeluLoop(ElementType type) {
  return type == ElementType::kDouble ? VectorUnaryLoop<double, QuickGeluOf<double>, true>
                                      : VectorUnaryLoop<float, QuickGeluOf<float>, true>;
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindBiasGeluLoop);
HWY_EXPORT(FindFastGeluLoop);
HWY_EXPORT(FindQuickGeluLoop);

namespace {

double CostOf(ElementType type) { return type == ElementType::kDouble ? 5.0 : 1.0; }

template <bool kFast>
class BiasGelu final : public BinaryKernel {
 public:
  explicit BiasGelu(const KernelInfo& info) : BinaryKernel(info, Body(ComputeTypeOf(info.input_type(0)))) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& bias = context.required_input(1);
    const Shape& shape = bias.shape();
    Require(x.type() == bias.type(), "the bias is {}, the input {}", ElementTypeName(bias.type()),
            ElementTypeName(x.type()));
    Require(x.shape().rank() > 0 && shape.rank() == 1 && shape[0] == x.shape().back(), "the bias is {} for an input {}",
            shape, x.shape());
    Run(context, x, bias, x.shape(), shape, x.shape());
  }

 private:
  static Elementwise Body(ElementType type) { return {HWY_DYNAMIC_DISPATCH(FindBiasGeluLoop)(type, kFast), CostOf(type)}; }
};

class FastGelu final : public UnaryKernel {
 public:
  explicit FastGelu(const KernelInfo& info) : UnaryKernel(info, Body(ComputeTypeOf(info.input_type(0)))) {}

 private:
  static Elementwise Body(ElementType type) { return {HWY_DYNAMIC_DISPATCH(FindFastGeluLoop)(type), CostOf(type)}; }
};

class QuickGelu final : public UnaryKernel {
 public:
  explicit QuickGelu(const KernelInfo& info)
      : UnaryKernel(info, Body(ComputeTypeOf(info.input_type(0)), ActivationAttributes(info.node()).alpha)) {}

 private:
  static Elementwise Body(ElementType type, float alpha) {
    Elementwise body{HWY_DYNAMIC_DISPATCH(FindQuickGeluLoop)(type), CostOf(type)};
    if (type == ElementType::kDouble) body.set_params(static_cast<double>(alpha));
    else body.set_params(alpha);
    return body;
  }
};

std::unique_ptr<Kernel> MakeFastGelu(const KernelInfo& info) {
  if (info.has_input(1)) return std::make_unique<BiasGelu<true>>(info);
  return std::make_unique<FastGelu>(info);
}

}  // namespace

void RegisterBiasGelu(KernelRegistry& registry) {
  registry.Add(Op("BiasGelu", "com.microsoft").Types(0, kFloats).InPlace(0, 0).Make<BiasGelu<false>>());
}
void RegisterFastGelu(KernelRegistry& registry) {
  registry.Add(Op("FastGelu", "com.microsoft").Types(0, kFloats).InPlace(0, 0).Factory(MakeFastGelu));
}
void RegisterQuickGelu(KernelRegistry& registry) {
  registry.Add(Op("QuickGelu", "com.microsoft").Types(0, kFloats).InPlace(0, 0).Make<QuickGelu>());
}

}  // namespace tessera::cpu
#endif  // HWY_ONCE
