// Add, Sub, Mul and Div (1, 6, 7, 13, 14).

#include "cpu/ops/math/arithmetic.h"

#include <type_traits>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/math/arithmetic.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"
#include "cpu/ops/math/quotient-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

struct AddOf {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a + b;
    else return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct SubOf {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a - b;
    else return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
struct MulOf {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    else return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
/// Truncates integers.
struct DivOf {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a / b;
    else return Quotient(a, b);
  }
};
/// A NaN on either side is the result.
struct MaxOf {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T larger = a > b ? a : b;
      return a != a ? a : larger;
    } else {
      return a > b ? a : b;
    }
  }
};
struct MinOf {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T smaller = a < b ? a : b;
      return a != a ? a : smaller;
    } else {
      return a < b ? a : b;
    }
  }
};
void DivInt64Loop(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void* params) {
  const int64_t divisor = *static_cast<const int64_t*>(inputs[1]);
  if ((advancing & 3) != 1 || !InvariantDivisor::Suits(divisor, count)) {
    return BinaryLoop<int64_t, int64_t, int64_t, DivOf>(inputs, advancing, output, count, params);
  }
  const InvariantDivisor by(divisor);
  const auto* x = static_cast<const int64_t*>(inputs[0]);
  auto* y = static_cast<int64_t*>(output);
  for (int64_t i = 0; i < count; ++i) y[i] = by.Divide(x[i]);
}

template <class T>
SpanLoop LoopOf(Arithmetic op) {
  switch (op) {
    case Arithmetic::kAdd: return BinaryLoop<T, T, T, AddOf>;
    case Arithmetic::kSub: return BinaryLoop<T, T, T, SubOf>;
    case Arithmetic::kMul: return BinaryLoop<T, T, T, MulOf>;
    case Arithmetic::kDiv:
      if constexpr (std::is_same_v<T, int64_t>) return DivInt64Loop;
      else return BinaryLoop<T, T, T, DivOf>;
    case Arithmetic::kMax: return BinaryLoop<T, T, T, MaxOf>;
    case Arithmetic::kMin: return BinaryLoop<T, T, T, MinOf>;
  }
  return nullptr;
}

}  // namespace

SpanLoop FindArithmeticLoop(Arithmetic op, ElementType type) {
  return LoopOfNumber(type, [op]<class T>() { return LoopOf<T>(op); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindArithmeticLoop);

SpanLoop ArithmeticLoop(Arithmetic op, ElementType type) {
  const SpanLoop loop = HWY_DYNAMIC_DISPATCH(FindArithmeticLoop)(op, ComputeTypeOf(type));
  if (loop == nullptr) Fail(ErrorCode::kNotImplemented, "no arithmetic on tensor({})", ElementTypeName(type));
  return loop;
}

double ArithmeticCost(Arithmetic op, ElementType type) {
  const bool wide = BitWidth(type) == 64;
  switch (op) {
    case Arithmetic::kDiv: return wide ? 2 : 0.4;
    default: return wide ? 0.4 : 0.2;
  }
}

namespace {

template <Arithmetic kOp>
class ArithmeticKernel final : public BinaryKernel {
 public:
  explicit ArithmeticKernel(const KernelInfo& info)
      : BinaryKernel(info, {ArithmeticLoop(kOp, info.input_type(0)), ArithmeticCost(kOp, info.input_type(0))}) {
    Require(info.input_type(0) == info.input_type(1), "inputs are tensor({}) and tensor({}), expected one type",
            ElementTypeName(info.input_type(0)), ElementTypeName(info.input_type(1)));
  }
};

template <Arithmetic kOp>
void RegisterArithmetic(KernelRegistry& registry, const char* name) {
  registry.Add(
      Op(name).Versions(1).Types(0, kNumbers).Types(1, kNumbers).InPlace(0, 0).InPlace(1, 0).Make<ArithmeticKernel<kOp>>());
}

}  // namespace

void RegisterAdd(KernelRegistry& registry) { RegisterArithmetic<Arithmetic::kAdd>(registry, "Add"); }
void RegisterSub(KernelRegistry& registry) { RegisterArithmetic<Arithmetic::kSub>(registry, "Sub"); }
void RegisterMul(KernelRegistry& registry) { RegisterArithmetic<Arithmetic::kMul>(registry, "Mul"); }
void RegisterDiv(KernelRegistry& registry) { RegisterArithmetic<Arithmetic::kDiv>(registry, "Div"); }
}  // namespace tessera::cpu
#endif
