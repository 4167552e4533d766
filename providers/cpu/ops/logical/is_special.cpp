// IsNaN (9, 13, 20) and IsInf (10, 20): tests on the bits of every floating-point type.

#include <bit>
#include <type_traits>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/logical/is_special.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"

#ifndef TESSERA_OPS_IS_SPECIAL_ONCE
#define TESSERA_OPS_IS_SPECIAL_ONCE
namespace tessera::cpu {
/// IEEE's NaNs lie above infinity where the sign is masked away; infinities, and the NaNs of other types, are one or two
/// bit patterns.
enum class Special { kAbove, kOneOf };
/// `U` is the unsigned type of the float's bits.
template <class U>
struct SpecialBits {
  U first;   // the mask, or a code
  U second;  // what is exceeded, or a code
};
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class U>
struct IsAbove {
  SpecialBits<U> patterns;
  // Signed comparisons are single instructions, and the sign is masked away.
  uint8_t operator()(U x) const {
    using S = std::make_signed_t<U>;
    return static_cast<S>(x & patterns.first) > static_cast<S>(patterns.second);
  }
};
template <class U>
struct IsOneOf {
  SpecialBits<U> patterns;
  uint8_t operator()(U x) const { return static_cast<uint8_t>((x == patterns.first) | (x == patterns.second)); }
};

struct Params {};

template <class U>
SpanLoop LoopOf(Special what) {
  return what == Special::kAbove ? UnaryLoop<U, uint8_t, IsAbove<U>, Params> : UnaryLoop<U, uint8_t, IsOneOf<U>, Params>;
}

}  // namespace

SpanLoop FindSpecialLoop(Special what, int bits) {
  switch (bits) {
    case 8: return LoopOf<uint8_t>(what);
    case 16: return LoopOf<uint16_t>(what);
    case 32: return LoopOf<uint32_t>(what);
    default: return LoopOf<uint64_t>(what);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindSpecialLoop);

namespace {

/// Bit patterns of an IEEE-like type: sign bit and the bits of +infinity.
struct Layout {
  uint64_t sign;
  uint64_t infinity;  // 0: none
  uint64_t nan;       // the only NaN code of types without infinity (both signs, unless it is the sign bit itself)
};

Layout LayoutOf(ElementType type) {
  switch (type) {
    case ElementType::kDouble: return {uint64_t{1} << 63, 0x7ff0000000000000u, 0};
    case ElementType::kFloat: return {0x80000000u, 0x7f800000u, 0};
    case ElementType::kFloat16: return {0x8000, 0x7c00, 0};
    case ElementType::kBFloat16: return {0x8000, 0x7f80, 0};
    case ElementType::kFloat8E5M2: return {0x80, 0x7c, 0};
    case ElementType::kFloat8E4M3FN: return {0x80, 0, 0x7f};
    default: return {0x80, 0, 0x80};
  }
}

template <class U>
void SetBits(Elementwise& body, uint64_t first, uint64_t second) {
  body.set_params(SpecialBits<U>{static_cast<U>(first), static_cast<U>(second)});
}

Elementwise MakeBody(ElementType type, Special what, uint64_t first, uint64_t second) {
  const int bits = BitWidth(type);
  Elementwise body{HWY_DYNAMIC_DISPATCH(FindSpecialLoop)(what, bits), 0.1};
  switch (bits) {
    case 8: SetBits<uint8_t>(body, first, second); break;
    case 16: SetBits<uint16_t>(body, first, second); break;
    case 32: SetBits<uint32_t>(body, first, second); break;
    default: SetBits<uint64_t>(body, first, second);
  }
  return body;
}

/// Works on the bits, so the 16-bit types do not go through float.
class SpecialKernel : public Kernel {
 public:
  SpecialKernel(const KernelInfo& info, const Elementwise& body)
      : body_(body), type_(info.input_type(0)), size_(BitWidth(type_) / 8) {}
  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Require(x.type() == type_, "input 0 is tensor({}), expected tensor({})", ElementTypeName(x.type()),
            ElementTypeName(type_));
    Tensor* y = context.output(0, ElementType::kBool, x.shape());
    if (y == nullptr) return;
    const auto* source = static_cast<const char*>(x.raw());
    auto* target = static_cast<char*>(y->mutable_raw());
    context.threads().ParallelFor(x.num_elements(), body_.cost_ns, [&](int64_t begin, int64_t end) {
      const void* input = source + begin * size_;
      body_.loop(&input, 1, target + begin, end - begin, body_.params);
    });
  }

 private:
  Elementwise body_;
  ElementType type_;
  int64_t size_;
};

class IsNaN final : public SpecialKernel {
 public:
  explicit IsNaN(const KernelInfo& info) : SpecialKernel(info, Body(info.input_type(0))) {}

 private:
  static Elementwise Body(ElementType type) {
    const Layout layout = LayoutOf(type);
    if (layout.infinity != 0) return MakeBody(type, Special::kAbove, ~layout.sign, layout.infinity);
    return MakeBody(type, Special::kOneOf, layout.nan, layout.nan | layout.sign);
  }
};

class IsInf final : public SpecialKernel {
 public:
  explicit IsInf(const KernelInfo& info) : SpecialKernel(info, Body(info)) {}

 private:
  static Elementwise Body(const KernelInfo& info) {
    const ElementType type = info.input_type(0);
    const Layout layout = LayoutOf(type);
    const bool positive = info.attribute<int64_t>("detect_positive", 1) != 0 && layout.infinity != 0;
    const bool negative = info.attribute<int64_t>("detect_negative", 1) != 0 && layout.infinity != 0;
    const uint64_t plus = layout.infinity;
    const uint64_t minus = layout.infinity | layout.sign;
    if (!positive && !negative) return Never();
    // The bit patterns repeat where only one sign is asked for.
    return MakeBody(type, Special::kOneOf, positive ? plus : minus, negative ? minus : plus);
  }
  static Elementwise Never() {
    Elementwise body;
    body.cost_ns = 0.1;
    body.loop = [](const void* const*, unsigned, void* output, int64_t count, const void*) {
      std::memset(output, 0, static_cast<size_t>(count));
    };
    return body;
  }
};

constexpr TypeSet kFloats8 = {ElementType::kFloat8E4M3FN, ElementType::kFloat8E4M3FNUZ, ElementType::kFloat8E5M2,
                              ElementType::kFloat8E5M2FNUZ};

}  // namespace

void RegisterIsNaN(KernelRegistry& registry) {
  registry.Add(Op("IsNaN").Versions(9).Types(0, kFloats | kFloats8).Make<IsNaN>());
}
void RegisterIsInf(KernelRegistry& registry) {
  registry.Add(Op("IsInf").Versions(10).Types(0, kFloats | kFloats8).Make<IsInf>());
}

}  // namespace tessera::cpu
#endif
