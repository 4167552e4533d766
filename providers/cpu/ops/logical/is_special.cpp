// IsNaN (9, 13, 20) and IsInf (10, 20): tests on the bits of every floating-point type.

#include <bit>

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/logical/is_special.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/elementwise-inl.h"

#ifndef TESSERA_OPS_IS_SPECIAL_ONCE
#define TESSERA_OPS_IS_SPECIAL_ONCE
namespace tessera::cpu {
/// `U` is the unsigned type of the float's bits. True where the bits without those of `ignored` are above `above`, or equal
/// to one of `codes`.
template <class U>
struct SpecialCodes {
  U ignored;
  U above;
  U codes[2];
};
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class U>
struct IsSpecial {
  SpecialCodes<U> special;
  uint8_t operator()(U x) const {
    return static_cast<uint8_t>((static_cast<U>(x & static_cast<U>(~special.ignored)) > special.above) |
                                (x == special.codes[0]) | (x == special.codes[1]));
  }
};

struct Params {};

}  // namespace

SpanLoop FindSpecialLoop(int bits) {
  switch (bits) {
    case 8: return UnaryLoop<uint8_t, uint8_t, IsSpecial<uint8_t>, Params>;
    case 16: return UnaryLoop<uint16_t, uint8_t, IsSpecial<uint16_t>, Params>;
    case 32: return UnaryLoop<uint32_t, uint8_t, IsSpecial<uint32_t>, Params>;
    default: return UnaryLoop<uint64_t, uint8_t, IsSpecial<uint64_t>, Params>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindSpecialLoop);

namespace {

/// Codes of an IEEE-like type: sign bit and the code of +infinity.
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
void SetCodes(Elementwise& body, uint64_t ignored, uint64_t above, uint64_t first, uint64_t second) {
  body.set_params(SpecialCodes<U>{static_cast<U>(ignored), static_cast<U>(above), {static_cast<U>(first), static_cast<U>(second)}});
}

Elementwise MakeBody(ElementType type, uint64_t ignored, uint64_t above, uint64_t first, uint64_t second) {
  const int bits = BitWidth(type);
  Elementwise body{HWY_DYNAMIC_DISPATCH(FindSpecialLoop)(bits), 0.2};
  switch (bits) {
    case 8: SetCodes<uint8_t>(body, ignored, above, first, second); break;
    case 16: SetCodes<uint16_t>(body, ignored, above, first, second); break;
    case 32: SetCodes<uint32_t>(body, ignored, above, first, second); break;
    default: SetCodes<uint64_t>(body, ignored, above, first, second);
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
    Require(x.type() == type_, "input 0 is tensor({}), expected tensor({})", ElementTypeName(x.type()), ElementTypeName(type_));
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
    if (layout.infinity != 0) {
      return MakeBody(type, layout.sign, layout.infinity, layout.infinity + 1, layout.infinity + 1);
    }
    return MakeBody(type, 0, ~uint64_t{0}, layout.nan, layout.nan | layout.sign);
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
    // The codes repeat where only one sign is asked for.
    return MakeBody(type, 0, ~uint64_t{0}, positive ? plus : minus, negative ? minus : plus);
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
