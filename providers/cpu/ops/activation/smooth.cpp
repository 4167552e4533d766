// Sigmoid (1, 6, 13), Elu and Selu (1, 6, 22), Celu (12, 28), Gelu (20), Mish (18, 22), Softplus (1, 22), Swish (24),
// SwiGLU (28).

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/activation/smooth.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"
#include "kernels/elementwise/math-inl.h"

#ifndef TESSERA_OPS_SMOOTH_ONCE
#define TESSERA_OPS_SMOOTH_ONCE
namespace tessera::cpu {
enum class Smooth { kSigmoid, kElu, kSelu, kCelu, kGelu, kGeluTanh, kMish, kSoftplus, kSwish };
/// The attributes, in the type that the loop computes in.
template <class T>
struct SmoothParams {
  T alpha;
  T gamma;
};
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

struct SigmoidOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::Sigmoid(d, x);
  }
};
struct GeluOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::Gelu(d, x);
  }
};
/// x/2 (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3)
struct GeluTanhOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using T = hn::TFromD<D>;
    const V square = hn::Mul(x, x);
    const V inner = hn::MulAdd(square, hn::Set(d, T(0.0713548162726)), hn::Set(d, T(1.59576912160573)));
    return hn::Mul(x, vmath::Sigmoid(d, hn::Mul(x, inner)));
  }
};
struct MishOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::Mish(d, x);
  }
};
struct SoftplusOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::Softplus(d, x);
  }
};
template <class T>
struct EluOf {
  SmoothParams<T> p;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V negative = hn::Mul(hn::Set(d, p.alpha), vmath::Expm1(d, x));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), negative, x);
  }
};
template <class T>
struct SeluOf {
  SmoothParams<T> p;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V negative = hn::Mul(hn::Set(d, p.alpha), vmath::Expm1(d, x));
    return hn::Mul(hn::Set(d, p.gamma), hn::IfThenElse(hn::Lt(x, hn::Zero(d)), negative, x));
  }
};
/// max(0, x) + min(0, alpha (e^(x/alpha) - 1))
template <class T>
struct CeluOf {
  SmoothParams<T> p;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V alpha = hn::Set(d, p.alpha);
    const V zero = hn::Zero(d);
    const V curve = hn::Mul(alpha, vmath::Expm1(d, hn::Div(x, alpha)));
    return hn::Add(hn::IfThenElse(hn::Lt(x, zero), zero, x), hn::IfThenElse(hn::Gt(curve, zero), zero, curve));
  }
};
template <class T>
struct SwishOf {
  SmoothParams<T> p;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, vmath::Sigmoid(d, hn::Mul(hn::Set(d, p.alpha), x)));
  }
};
template <class T>
struct SwiGluOf {
  SmoothParams<T> p;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return hn::Mul(hn::Mul(a, vmath::Sigmoid(d, hn::Mul(hn::Set(d, p.alpha), a))), b);
  }
};

template <class T>
SpanLoop LoopOf(Smooth op) {
  switch (op) {
    case Smooth::kSigmoid: return VectorUnaryLoop<T, SigmoidOf>;
    case Smooth::kElu: return VectorUnaryLoop<T, EluOf<T>, true>;
    case Smooth::kSelu: return VectorUnaryLoop<T, SeluOf<T>, true>;
    case Smooth::kCelu: return VectorUnaryLoop<T, CeluOf<T>, true>;
    case Smooth::kGelu: return VectorUnaryLoop<T, GeluOf>;
    case Smooth::kGeluTanh: return VectorUnaryLoop<T, GeluTanhOf>;
    case Smooth::kMish: return VectorUnaryLoop<T, MishOf>;
    case Smooth::kSoftplus: return VectorUnaryLoop<T, SoftplusOf>;
    case Smooth::kSwish: return VectorUnaryLoop<T, SwishOf<T>, true>;
  }
  return nullptr;
}

}  // namespace

SpanLoop FindSmoothLoop(Smooth op, ElementType type) {
  return type == ElementType::kDouble ? LoopOf<double>(op) : LoopOf<float>(op);
}
SpanLoop FindSwiGluLoop(ElementType type) {
  return type == ElementType::kDouble ? VectorBinaryLoop<double, SwiGluOf<double>, true>
                                      : VectorBinaryLoop<float, SwiGluOf<float>, true>;
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindSmoothLoop);
HWY_EXPORT(FindSwiGluLoop);

namespace {

Elementwise WithParams(SpanLoop loop, ElementType type, float alpha, float gamma) {
  const bool in_double = type == ElementType::kDouble;
  return Elementwise::With<SmoothParams>(loop, in_double ? 5.0 : 1.0, in_double, alpha, gamma);
}

template <Smooth kOp>
class SmoothKernel final : public UnaryKernel {
 public:
  explicit SmoothKernel(const KernelInfo& info) : UnaryKernel(info, Body(info)) {}

 private:
  static Elementwise Body(const KernelInfo& info) {
    Smooth op = kOp;
    float alpha = 1.0f;
    float gamma = 1.0f;
    if (op == Smooth::kElu || op == Smooth::kCelu || op == Smooth::kSwish) alpha = info.attribute<float>("alpha", 1.0f);
    if (op == Smooth::kSelu) {
      const bool first = info.since_version() == 1;
      alpha = info.attribute<float>("alpha", first ? 1.6732f : 1.67326319217681884765625f);
      gamma = info.attribute<float>("gamma", first ? 1.0507f : 1.05070102214813232421875f);
    }
    if (op == Smooth::kGelu) {
      const auto approximate = info.attribute<std::string>("approximate", "none");
      Require(approximate == "none" || approximate == "tanh", "attribute 'approximate' is '{}', expected none or tanh",
              approximate);
      if (approximate == "tanh") op = Smooth::kGeluTanh;
    }
    const ElementType type = ComputeTypeOf(info.input_type(0));
    return WithParams(HWY_DYNAMIC_DISPATCH(FindSmoothLoop)(op, type), type, alpha, gamma);
  }
};

class SwiGlu final : public BinaryKernel {
 public:
  explicit SwiGlu(const KernelInfo& info) : BinaryKernel(info, Body(info)) {
    Require(info.input_type(0) == info.input_type(1), "inputs are tensor({}) and tensor({}), expected one type",
            ElementTypeName(info.input_type(0)), ElementTypeName(info.input_type(1)));
  }
  void Compute(KernelContext& context) override {
    const Shape& a = context.required_input(0).shape();
    const Shape& b = context.required_input(1).shape();
    Require(a == b, "shapes {} and {} differ: this operator does not broadcast", a, b);
    BinaryKernel::Compute(context);
  }

 private:
  static Elementwise Body(const KernelInfo& info) {
    const ElementType type = ComputeTypeOf(info.input_type(0));
    return WithParams(HWY_DYNAMIC_DISPATCH(FindSwiGluLoop)(type), type, info.attribute<float>("alpha", 1.0f), 1.0f);
  }
};

template <Smooth kOp>
void Add(KernelRegistry& registry, const char* name) {
  registry.Add(Op(name).Versions(1).Types(0, kFloats).InPlace(0, 0).Make<SmoothKernel<kOp>>());
}

}  // namespace

void RegisterSigmoid(KernelRegistry& registry) { Add<Smooth::kSigmoid>(registry, "Sigmoid"); }
void RegisterElu(KernelRegistry& registry) { Add<Smooth::kElu>(registry, "Elu"); }
void RegisterSelu(KernelRegistry& registry) { Add<Smooth::kSelu>(registry, "Selu"); }
void RegisterCelu(KernelRegistry& registry) { Add<Smooth::kCelu>(registry, "Celu"); }
void RegisterGelu(KernelRegistry& registry) { Add<Smooth::kGelu>(registry, "Gelu"); }
void RegisterMish(KernelRegistry& registry) { Add<Smooth::kMish>(registry, "Mish"); }
void RegisterSoftplus(KernelRegistry& registry) { Add<Smooth::kSoftplus>(registry, "Softplus"); }
void RegisterSwish(KernelRegistry& registry) { Add<Smooth::kSwish>(registry, "Swish"); }
void RegisterSwiGLU(KernelRegistry& registry) {
  registry.Add(Op("SwiGLU").Versions(28).Types(0, kFloats).Types(1, kFloats).InPlace(0, 0).InPlace(1, 0).Make<SwiGlu>());
}

}  // namespace tessera::cpu
#endif
