// Relu (1, 6, 13, 14), LeakyRelu (1, 6, 16), ThresholdedRelu (10, 22), HardSigmoid (1, 6, 22), HardSwish (14, 22),
// Softsign (1, 22), Shrink (9).

#include <cmath>
#include <type_traits>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/activation/rectifiers.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"

#ifndef TESSERA_OPS_RECTIFIERS_ONCE
#define TESSERA_OPS_RECTIFIERS_ONCE
namespace tessera::cpu {
enum class Rectifier { kRelu, kLeakyRelu, kThresholdedRelu, kHardSigmoid, kHardSwish, kSoftsign };
/// The attributes, in the type that the loop computes in.
template <class T>
struct AlphaBeta {
  T alpha;
  T beta;
};
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

// Each keeps NaN.
struct ReluOf {
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};
/// On the bits of a 16-bit float: those from just below -0 to -infinity become 0.
template <uint16_t kInfinity>
struct HalfReluOf {
  uint16_t operator()(uint16_t bits) const { return static_cast<uint16_t>(bits - 0x8001u) <= kInfinity - 1u ? 0 : bits; }
};
template <class T>
struct LeakyReluOf {
  AlphaBeta<T> p;
  T operator()(T x) const {
    const T scaled = p.alpha * x;
    return x < T(0) ? scaled : x;
  }
};
template <class T>
struct ThresholdedReluOf {
  AlphaBeta<T> p;
  T operator()(T x) const { return x > p.alpha ? x : T(0); }
};
template <class T>
struct HardSigmoidOf {
  AlphaBeta<T> p;
  T operator()(T x) const {
    T y = p.alpha * x + p.beta;
    y = y > T(1) ? T(1) : y;
    return y < T(0) ? T(0) : y;
  }
};
template <class T>
struct HardSwishOf {
  T operator()(T x) const {
    T y = x * T(1.0 / 6) + T(0.5);
    y = y > T(1) ? T(1) : y;
    y = y < T(0) ? T(0) : y;
    return x * y;
  }
};
struct SoftsignOf {
  template <class T>
  T operator()(T x) const {
    return x / (T(1) + std::fabs(x));
  }
};
/// Integers are compared and shifted in F.
template <class T, class F>
struct ShrinkOf {
  AlphaBeta<F> p;  // lambd, bias
  T operator()(T x) const {
    const F value = static_cast<F>(x);
    F y = value > p.alpha ? value - p.beta : F(0);
    y = value < -p.alpha ? value + p.beta : y;
    if constexpr (std::is_floating_point_v<T>) {
      return y;
    } else {
      return static_cast<T>(static_cast<int64_t>(y));
    }
  }
};

template <class T>
SpanLoop LoopOf(Rectifier op) {
  switch (op) {
    case Rectifier::kRelu: return UnaryLoop<T, T, ReluOf>;
    case Rectifier::kLeakyRelu: return UnaryLoop<T, T, LeakyReluOf<T>, AlphaBeta<T>>;
    case Rectifier::kThresholdedRelu: return UnaryLoop<T, T, ThresholdedReluOf<T>, AlphaBeta<T>>;
    case Rectifier::kHardSigmoid: return UnaryLoop<T, T, HardSigmoidOf<T>, AlphaBeta<T>>;
    case Rectifier::kHardSwish: return UnaryLoop<T, T, HardSwishOf<T>>;
    case Rectifier::kSoftsign: return UnaryLoop<T, T, SoftsignOf>;
  }
  return nullptr;
}

}  // namespace

SpanLoop FindRectifierLoop(Rectifier op, ElementType type) {
  switch (type) {
    case ElementType::kFloat: return LoopOf<float>(op);
    case ElementType::kDouble: return LoopOf<double>(op);
    case ElementType::kFloat16: return UnaryLoop<uint16_t, uint16_t, HalfReluOf<0x7c00>>;
    case ElementType::kBFloat16: return UnaryLoop<uint16_t, uint16_t, HalfReluOf<0x7f80>>;
    case ElementType::kInt8: return UnaryLoop<int8_t, int8_t, ReluOf>;
    case ElementType::kInt16: return UnaryLoop<int16_t, int16_t, ReluOf>;
    case ElementType::kInt32: return UnaryLoop<int32_t, int32_t, ReluOf>;
    default: return UnaryLoop<int64_t, int64_t, ReluOf>;
  }
}
SpanLoop FindShrinkLoop(ElementType type) {
  switch (type) {
    case ElementType::kFloat: return UnaryLoop<float, float, ShrinkOf<float, float>, AlphaBeta<float>>;
    case ElementType::kDouble: return UnaryLoop<double, double, ShrinkOf<double, double>, AlphaBeta<double>>;
    case ElementType::kInt8: return UnaryLoop<int8_t, int8_t, ShrinkOf<int8_t, double>, AlphaBeta<double>>;
    case ElementType::kInt16: return UnaryLoop<int16_t, int16_t, ShrinkOf<int16_t, double>, AlphaBeta<double>>;
    case ElementType::kInt32: return UnaryLoop<int32_t, int32_t, ShrinkOf<int32_t, double>, AlphaBeta<double>>;
    case ElementType::kInt64: return UnaryLoop<int64_t, int64_t, ShrinkOf<int64_t, double>, AlphaBeta<double>>;
    case ElementType::kUInt8: return UnaryLoop<uint8_t, uint8_t, ShrinkOf<uint8_t, double>, AlphaBeta<double>>;
    case ElementType::kUInt16: return UnaryLoop<uint16_t, uint16_t, ShrinkOf<uint16_t, double>, AlphaBeta<double>>;
    case ElementType::kUInt32: return UnaryLoop<uint32_t, uint32_t, ShrinkOf<uint32_t, double>, AlphaBeta<double>>;
    default: return UnaryLoop<uint64_t, uint64_t, ShrinkOf<uint64_t, double>, AlphaBeta<double>>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindRectifierLoop);
HWY_EXPORT(FindShrinkLoop);

namespace {

template <Rectifier kOp>
class RectifierKernel final : public UnaryKernel {
 public:
  explicit RectifierKernel(const KernelInfo& info) : UnaryKernel(info, Body(info)) {}

 private:
  static Elementwise Body(const KernelInfo& info) {
    float alpha = 1.0f;
    float beta = 0.0f;
    if (kOp == Rectifier::kLeakyRelu) alpha = info.attribute<float>("alpha", 0.01f);
    if (kOp == Rectifier::kThresholdedRelu) alpha = info.attribute<float>("alpha", 1.0f);
    if (kOp == Rectifier::kHardSigmoid) {
      alpha = info.attribute<float>("alpha", 0.2f);
      beta = info.attribute<float>("beta", 0.5f);
    }
    const ElementType type = info.input_type(0);
    const bool on_halves = kOp == Rectifier::kRelu && IsHalf(type);
    const SpanLoop loop = HWY_DYNAMIC_DISPATCH(FindRectifierLoop)(kOp, on_halves ? type : ComputeTypeOf(type));
    Elementwise body =
        Elementwise::With<AlphaBeta>(loop, on_halves ? 0.1 : 0.25, type == ElementType::kDouble, alpha, beta);
    body.on_halves = on_halves;
    return body;
  }
};

class Shrink final : public UnaryKernel {
 public:
  explicit Shrink(const KernelInfo& info) : UnaryKernel(info, Body(info)) {}

 private:
  static Elementwise Body(const KernelInfo& info) {
    const ElementType type = ComputeTypeOf(info.input_type(0));
    return Elementwise::With<AlphaBeta>(HWY_DYNAMIC_DISPATCH(FindShrinkLoop)(type), 0.25, type != ElementType::kFloat,
                                        info.attribute<float>("lambd", 0.5f), info.attribute<float>("bias", 0.0f));
  }
};

template <Rectifier kOp>
void Add(KernelRegistry& registry, const char* name, TypeSet types = kFloats) {
  registry.Add(Op(name).Versions(1).Types(0, types).InPlace(0, 0).Make<RectifierKernel<kOp>>());
}

}  // namespace

void RegisterRelu(KernelRegistry& registry) { Add<Rectifier::kRelu>(registry, "Relu", kFloats | kSignedInts); }
void RegisterLeakyRelu(KernelRegistry& registry) { Add<Rectifier::kLeakyRelu>(registry, "LeakyRelu"); }
void RegisterThresholdedRelu(KernelRegistry& registry) { Add<Rectifier::kThresholdedRelu>(registry, "ThresholdedRelu"); }
void RegisterHardSigmoid(KernelRegistry& registry) { Add<Rectifier::kHardSigmoid>(registry, "HardSigmoid"); }
void RegisterHardSwish(KernelRegistry& registry) { Add<Rectifier::kHardSwish>(registry, "HardSwish"); }
void RegisterSoftsign(KernelRegistry& registry) { Add<Rectifier::kSoftsign>(registry, "Softsign"); }
void RegisterShrink(KernelRegistry& registry) {
  registry.Add(Op("Shrink").Versions(9).Types(0, kNumbers).InPlace(0, 0).Make<Shrink>());
}

}  // namespace tessera::cpu
#endif
