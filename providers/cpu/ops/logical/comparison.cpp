// Equal (1, 7, 11, 13, 19), Greater and Less (1, 7, 9, 13), GreaterOrEqual and LessOrEqual (12, 16).

#include <string>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/logical/comparison.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"

#ifndef TESSERA_OPS_COMPARISON_ONCE
#define TESSERA_OPS_COMPARISON_ONCE
namespace tessera::cpu {
enum class Comparison { kEqual, kGreater, kLess, kGreaterOrEqual, kLessOrEqual };
}
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

struct EqualOf {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct LessOf {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessOrEqualOf {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct GreaterOf {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterOrEqualOf {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};

template <class T>
SpanLoop LoopOf(Comparison op) {
  switch (op) {
    case Comparison::kEqual: return BinaryLoop<T, T, bool, EqualOf>;
    case Comparison::kGreater: return BinaryLoop<T, T, bool, GreaterOf>;
    case Comparison::kLess: return BinaryLoop<T, T, bool, LessOf>;
    case Comparison::kGreaterOrEqual: return BinaryLoop<T, T, bool, GreaterOrEqualOf>;
    case Comparison::kLessOrEqual: return BinaryLoop<T, T, bool, LessOrEqualOf>;
  }
  return nullptr;
}

}  // namespace

SpanLoop FindComparisonLoop(Comparison op, ElementType type) {
  return LoopOfNumber(type, [op]<class T>() { return LoopOf<T>(op); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindComparisonLoop);

namespace {

void EqualStrings(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void*) {
  const auto* a = static_cast<const std::string*>(inputs[0]);
  const auto* b = static_cast<const std::string*>(inputs[1]);
  bool* y = static_cast<bool*>(output);
  const int64_t a_step = advancing & 1;
  const int64_t b_step = advancing >> 1 & 1;
  for (int64_t i = 0; i < count; ++i) y[i] = a[i * a_step] == b[i * b_step];
}

template <Comparison kOp>
class ComparisonKernel final : public BinaryKernel {
 public:
  explicit ComparisonKernel(const KernelInfo& info) : BinaryKernel(info, Body(info)) {
    output_type_ = ElementType::kBool;
    output_size_ = 1;
  }

 private:
  static Elementwise Body(const KernelInfo& info) {
    ElementType type = info.input_type(0);
    Require(type == info.input_type(1), "inputs are tensor({}) and tensor({}), expected one type", ElementTypeName(type),
            ElementTypeName(info.input_type(1)));
    if (type == ElementType::kString && kOp == Comparison::kEqual) return {EqualStrings, 5};
    if (type == ElementType::kBool) type = ElementType::kUInt8;
    const SpanLoop loop = HWY_DYNAMIC_DISPATCH(FindComparisonLoop)(kOp, ComputeTypeOf(type));
    if (loop == nullptr) Fail(ErrorCode::kNotImplemented, "tensor({}) cannot be compared", ElementTypeName(type));
    return {loop, 0.3};
  }
};

template <Comparison kOp>
void Add(KernelRegistry& registry, const char* name, TypeSet types) {
  registry.Add(Op(name).Versions(1).Types(0, types).Types(1, types).Make<ComparisonKernel<kOp>>());
}

}  // namespace

void RegisterEqual(KernelRegistry& registry) {
  Add<Comparison::kEqual>(registry, "Equal", kNumbers | TypeSet{ElementType::kBool, ElementType::kString});
}
void RegisterGreater(KernelRegistry& registry) { Add<Comparison::kGreater>(registry, "Greater", kNumbers); }
void RegisterLess(KernelRegistry& registry) { Add<Comparison::kLess>(registry, "Less", kNumbers); }
void RegisterGreaterOrEqual(KernelRegistry& registry) {
  Add<Comparison::kGreaterOrEqual>(registry, "GreaterOrEqual", kNumbers);
}
void RegisterLessOrEqual(KernelRegistry& registry) { Add<Comparison::kLessOrEqual>(registry, "LessOrEqual", kNumbers); }

}  // namespace tessera::cpu
#endif
