// Operators of two tensors that broadcast: a row each. What stands in a row, and what a formula may use, is said in
// cpu/engine/elementwise_row.h and elementwise_row-inl.h.

#include <string>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/elementwise/binary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise_row-inl.h"
#include "cpu/ops/math/quotient-inl.h"
#include "kernels/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr ElementwiseRow kQuotients = TESSERA_BINARY(Div, 1, kNumbers, Quotient(a, b)).Costs(0.4, 2);

/// Many numbers by one: products with its reciprocal.
void DivideInt64(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void* params) {
  const int64_t divisor = *static_cast<const int64_t*>(inputs[1]);
  if ((advancing & 3) != 1 || !InvariantDivisor::Suits(divisor, count)) {
    return kQuotients.loop(ElementType::kInt64)(inputs, advancing, output, count, params);
  }
  const InvariantDivisor by(divisor);
  const auto* x = static_cast<const int64_t*>(inputs[0]);
  auto* y = static_cast<int64_t*>(output);
  for (int64_t i = 0; i < count; ++i) y[i] = by.Divide(x[i]);
}

SpanLoop LoopOfDiv(ElementType type) { return type == ElementType::kInt64 ? DivideInt64 : kQuotients.loop(type); }

void EqualStrings(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void*) {
  const auto* a = static_cast<const std::string*>(inputs[0]);
  const auto* b = static_cast<const std::string*>(inputs[1]);
  bool* y = static_cast<bool*>(output);
  const int64_t a_step = advancing & 1;
  const int64_t b_step = advancing >> 1 & 1;
  for (int64_t i = 0; i < count; ++i) y[i] = a[i * a_step] == b[i * b_step];
}

constexpr ElementwiseRow kBinaries[] = {
    TESSERA_BINARY(Add, 1, Unsigned(kNumbers), W(a) + W(b)).Costs(0.2, 0.4),
    TESSERA_BINARY(Sub, 1, Unsigned(kNumbers), W(a) - W(b)).Costs(0.2, 0.4),
    TESSERA_BINARY(Mul, 1, Unsigned(kNumbers), W(a) * W(b)).Costs(0.2, 0.4),
    kQuotients.Loops(LoopOfDiv),

    TESSERA_BINARY(Equal, 1, Unsigned(kNumbers | kBool), a == b).Costs(0.3),
    {"Equal", 1, TypeSet{ElementType::kString}, true, [](ElementType) -> SpanLoop { return EqualStrings; }, 5, 5},
    TESSERA_BINARY(Greater, 1, kNumbers, a > b).Costs(0.3),
    TESSERA_BINARY(GreaterOrEqual, 12, kNumbers, a >= b).Costs(0.3),
    TESSERA_BINARY(Less, 1, kNumbers, a < b).Costs(0.3),
    TESSERA_BINARY(LessOrEqual, 12, kNumbers, a <= b).Costs(0.3),

    // Bools are read as bytes: whatever is not 0 is true.
    TESSERA_BINARY(And, 1, kBool, (a != 0) & (b != 0)).Costs(0.1),
    TESSERA_BINARY(Or, 1, kBool, (a | b) != 0).Costs(0.1),
    TESSERA_BINARY(Xor, 1, kBool, (a != 0) != (b != 0)).Costs(0.1),
    TESSERA_BINARY(BitwiseAnd, 18, Unsigned(kInts), a& b),
    TESSERA_BINARY(BitwiseOr, 18, Unsigned(kInts), a | b),
    TESSERA_BINARY(BitwiseXor, 18, Unsigned(kInts), a ^ b),

    TESSERA_VECTOR_BINARY(SwiGLU, 28, kFloats, hn::Mul(hn::Mul(a, vmath::Sigmoid(d, hn::Mul(alpha, a))), b))
        .Costs(1, 5)
        .OfOneShape(),
};

}  // namespace

std::span<const ElementwiseRow> Binaries() { return kBinaries; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(Binaries);

void RegisterBinary(KernelRegistry& registry) {
  for (const ElementwiseRow& row : HWY_DYNAMIC_DISPATCH(Binaries)()) {
    registry.Add(ToKernelDef(
        row, 2, [](const KernelInfo& info) { return MakeBinary(FindRow(HWY_DYNAMIC_DISPATCH(Binaries)(), info), info); }));
  }
}

}  // namespace tessera::cpu
#endif
