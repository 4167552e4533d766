// Operators of one tensor, element by element: a row each. What stands in a row, and what a formula may use, is said in
// cpu/engine/elementwise_row.h and elementwise_row-inl.h.

#include <cmath>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/elementwise/unary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise_row-inl.h"
#include "cpu/ops/elementwise/scalar-inl.h"
#include "kernels/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

// All of them keep NaN.
constexpr ElementwiseRow kUnaries[] = {
    TESSERA_UNARY(Abs, 1, kNumbers, Abs(x)),
    TESSERA_UNARY(Neg, 1, Unsigned(kFloats | kSignedInts), -W(x)),
    TESSERA_UNARY(Sign, 9, kNumbers, Sign(x)),
    TESSERA_VECTOR_UNARY(Ceil, 1, kFloats, hn::Ceil(x)).Costs(0.2),
    TESSERA_VECTOR_UNARY(Floor, 1, kFloats, hn::Floor(x)).Costs(0.2),
    TESSERA_VECTOR_UNARY(Round, 11, kFloats, hn::Round(x)).Costs(0.2),  // halves go to the even neighbour
    TESSERA_VECTOR_UNARY(Sqrt, 1, kFloats, hn::Sqrt(x)).Costs(0.8),
    TESSERA_VECTOR_UNARY(Reciprocal, 1, kFloats, hn::Div(hn::Set(d, 1), x)).Costs(0.8),

    TESSERA_VECTOR_UNARY(Exp, 1, kFloats, vmath::Exp(d, x)),
    TESSERA_VECTOR_UNARY(Log, 1, kFloats, vmath::Log(d, x)),
    TESSERA_VECTOR_UNARY(Sin, 7, kFloats, vmath::Sin(d, x)),
    TESSERA_VECTOR_UNARY(Cos, 7, kFloats, vmath::Cos(d, x)),
    TESSERA_VECTOR_UNARY(Tan, 7, kFloats, vmath::Tan(d, x)),
    TESSERA_VECTOR_UNARY(Asin, 7, kFloats, vmath::Asin(d, x)),
    TESSERA_VECTOR_UNARY(Acos, 7, kFloats, vmath::Acos(d, x)),
    TESSERA_VECTOR_UNARY(Atan, 7, kFloats, vmath::Atan(d, x)),
    TESSERA_VECTOR_UNARY(Sinh, 9, kFloats, vmath::Sinh(d, x)),
    TESSERA_VECTOR_UNARY(Cosh, 9, kFloats, vmath::Cosh(d, x)),
    TESSERA_VECTOR_UNARY(Tanh, 1, kFloats, vmath::Tanh(d, x)),
    TESSERA_VECTOR_UNARY(Asinh, 9, kFloats, vmath::Asinh(d, x)),
    TESSERA_VECTOR_UNARY(Acosh, 9, kFloats, vmath::Acosh(d, x)),
    TESSERA_VECTOR_UNARY(Atanh, 9, kFloats, vmath::Atanh(d, x)),
    TESSERA_VECTOR_UNARY(Erf, 9, kFloats, vmath::Erf(d, x)),
    TESSERA_UNARY(Erf, 9, kInts, std::erf(static_cast<double>(x))).Costs(15),  // truncated

    TESSERA_UNARY(Relu, 1, kFloatAndDouble | kSignedInts, x < T(0) ? T(0) : x).Costs(0.25),
    TESSERA_UNARY(Relu, 1, Stored(kHalves), HalfRelu(x)).Costs(0.1),
    TESSERA_UNARY(LeakyRelu, 1, kFloats, x < T(0) ? alpha * x : x).Costs(0.25),
    TESSERA_UNARY(ThresholdedRelu, 10, kFloats, x > alpha ? x : T(0)).Costs(0.25),
    TESSERA_UNARY(HardSigmoid, 1, kFloats, Bounded(beta + alpha * x)).Costs(0.25),
    TESSERA_UNARY(HardSwish, 14, kFloats, Bounded(T(0.5) + x * T(1.0 / 6)) * x).Costs(0.25),
    TESSERA_UNARY(Shrink, 9, kNumbers, Shrink(x, alpha, beta)).Costs(0.25),
    TESSERA_UNARY(Softsign, 1, kFloats, x / (T(1) + Abs(x))).Costs(0.25),
    TESSERA_VECTOR_UNARY(Sigmoid, 1, kFloats, vmath::Sigmoid(d, x)).Costs(1, 5),
    TESSERA_VECTOR_UNARY(Elu, 1, kFloats, vmath::Elu(d, x, alpha)).Costs(1, 5),
    TESSERA_VECTOR_UNARY(Selu, 1, kFloats, hn::Mul(beta, vmath::Elu(d, x, alpha))).Costs(1, 5),
    TESSERA_VECTOR_UNARY(Celu, 12, kFloats, vmath::Celu(d, x, alpha)).Costs(1, 5),
    TESSERA_VECTOR_UNARY(Mish, 18, kFloats, vmath::Mish(d, x)).Costs(1, 5),
    TESSERA_VECTOR_UNARY(Softplus, 1, kFloats, vmath::Softplus(d, x)).Costs(1, 5),
    TESSERA_VECTOR_UNARY(Swish, 24, kFloats, hn::Mul(x, vmath::Sigmoid(d, hn::Mul(alpha, x)))).Costs(1, 5),
    TESSERA_VECTOR_UNARY(QuickGelu, 1, kFloats, hn::Mul(x, vmath::Sigmoid(d, hn::Mul(alpha, x))))
        .Of("com.microsoft")
        .Costs(1, 5),

    TESSERA_UNARY(IsNaN, 9, Stored(kFloats | kFloats8), IsNaN(x)).Costs(0.1),
    TESSERA_UNARY(Not, 1, kBool, x == 0).Costs(0.1),
    TESSERA_UNARY(BitwiseNot, 18, Unsigned(kInts), ~x),
};

}  // namespace

std::span<const ElementwiseRow> Unaries() { return kUnaries; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(Unaries);

void RegisterUnary(KernelRegistry& registry) {
  for (const ElementwiseRow& row : HWY_DYNAMIC_DISPATCH(Unaries)()) {
    registry.Add(ToKernelDef(
        row, 1, [](const KernelInfo& info) { return MakeUnary(FindRow(HWY_DYNAMIC_DISPATCH(Unaries)(), info), info); }));
  }
}

}  // namespace tessera::cpu
#endif
