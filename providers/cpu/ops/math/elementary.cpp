// Abs, Neg, Ceil, Floor, Sqrt, Reciprocal (1, 6, 13), Sign (9, 13), Round (11, 22), BitwiseNot (18).

#include <cmath>
#include <type_traits>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/math/elementary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"

#ifndef TESSERA_OPS_ELEMENTARY_ONCE
#define TESSERA_OPS_ELEMENTARY_ONCE
namespace tessera::cpu {
enum class Elementary { kAbs, kNeg, kSign, kCeil, kFloor, kRound, kSqrt, kReciprocal, kBitwiseNot };
}
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

struct AbsOf {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    else if constexpr (std::is_unsigned_v<T>) return x;
    else return x < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x;
  }
};
struct NegOf {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return -x;
    else return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
  }
};
struct SignOf {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T sign = static_cast<T>(x > 0) - static_cast<T>(x < 0);
      return x != x ? x : sign;
    } else {
      return static_cast<T>((x > 0) - (x < 0));
    }
  }
};
struct NotOf {
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
struct CeilOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Ceil(x);
  }
};
struct FloorOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Floor(x);
  }
};
/// Halves go to the even neighbour.
struct RoundOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Round(x);
  }
};
struct SqrtOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Sqrt(x);
  }
};
struct ReciprocalOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, 1), x);
  }
};

template <class T>
SpanLoop LoopOf(Elementary op) {
  switch (op) {
    case Elementary::kAbs: return UnaryLoop<T, T, AbsOf>;
    case Elementary::kNeg: return UnaryLoop<T, T, NegOf>;
    case Elementary::kSign: return UnaryLoop<T, T, SignOf>;
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Elementary::kCeil: return VectorUnaryLoop<T, CeilOf>;
      case Elementary::kFloor: return VectorUnaryLoop<T, FloorOf>;
      case Elementary::kRound: return VectorUnaryLoop<T, RoundOf>;
      case Elementary::kSqrt: return VectorUnaryLoop<T, SqrtOf>;
      case Elementary::kReciprocal: return VectorUnaryLoop<T, ReciprocalOf>;
      default: return nullptr;
    }
  } else {
    return op == Elementary::kBitwiseNot ? UnaryLoop<T, T, NotOf> : nullptr;
  }
}

}  // namespace

SpanLoop FindElementaryLoop(Elementary op, ElementType type) {
  return LoopOfNumber(type, [op]<class T>() { return LoopOf<T>(op); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindElementaryLoop);

namespace {

template <Elementary kOp>
class ElementaryKernel final : public UnaryKernel {
 public:
  explicit ElementaryKernel(const KernelInfo& info) : UnaryKernel(info, Body(info.input_type(0))) {}

 private:
  static Elementwise Body(ElementType type) {
    const SpanLoop loop = HWY_DYNAMIC_DISPATCH(FindElementaryLoop)(kOp, ComputeTypeOf(type));
    if (loop == nullptr) Fail(ErrorCode::kNotImplemented, "tensor({}) is not supported", ElementTypeName(type));
    const bool slow = kOp == Elementary::kSqrt || kOp == Elementary::kReciprocal;
    return {loop, slow ? 0.8 : 0.2};
  }
};

template <Elementary kOp>
void Add(KernelRegistry& registry, const char* name, TypeSet types) {
  registry.Add(Op(name).Versions(1).Types(0, types).InPlace(0, 0).Make<ElementaryKernel<kOp>>());
}

}  // namespace

void RegisterAbs(KernelRegistry& registry) { Add<Elementary::kAbs>(registry, "Abs", kNumbers); }
void RegisterNeg(KernelRegistry& registry) { Add<Elementary::kNeg>(registry, "Neg", kFloats | kSignedInts); }
void RegisterSign(KernelRegistry& registry) { Add<Elementary::kSign>(registry, "Sign", kNumbers); }
void RegisterCeil(KernelRegistry& registry) { Add<Elementary::kCeil>(registry, "Ceil", kFloats); }
void RegisterFloor(KernelRegistry& registry) { Add<Elementary::kFloor>(registry, "Floor", kFloats); }
void RegisterRound(KernelRegistry& registry) { Add<Elementary::kRound>(registry, "Round", kFloats); }
void RegisterSqrt(KernelRegistry& registry) { Add<Elementary::kSqrt>(registry, "Sqrt", kFloats); }
void RegisterReciprocal(KernelRegistry& registry) { Add<Elementary::kReciprocal>(registry, "Reciprocal", kFloats); }
void RegisterBitwiseNot(KernelRegistry& registry) { Add<Elementary::kBitwiseNot>(registry, "BitwiseNot", kInts); }

}  // namespace tessera::cpu
#endif
