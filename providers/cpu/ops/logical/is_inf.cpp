// IsInf (10, 20): a test of the bits of every floating-point type.

#include <cstring>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/logical/is_inf.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"
#include "cpu/engine/elementwise_row.h"
#include "ops/logical/is_inf.h"

#ifndef TESSERA_OPS_IS_INF_ONCE
#define TESSERA_OPS_IS_INF_ONCE
namespace tessera::cpu {
/// The infinities that count; twice the same where only one does. `U` is the unsigned type of the float's bits.
template <class U>
struct Infinities {
  U first;
  U second;
};
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class U>
struct IsOneOf {
  Infinities<U> patterns;
  bool operator()(U x) const { return (x == patterns.first) | (x == patterns.second); }
};

}  // namespace

SpanLoop FindIsInfLoop(int bits) {
  switch (bits) {
    case 8: return UnaryLoop<uint8_t, bool, IsOneOf<uint8_t>>;
    case 16: return UnaryLoop<uint16_t, bool, IsOneOf<uint16_t>>;
    case 32: return UnaryLoop<uint32_t, bool, IsOneOf<uint32_t>>;
    default: return UnaryLoop<uint64_t, bool, IsOneOf<uint64_t>>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindIsInfLoop);

namespace {

/// The bits of +infinity; 0 for types without it.
uint64_t InfinityOf(ElementType type) {
  switch (type) {
    case ElementType::kDouble: return 0x7ff0000000000000u;
    case ElementType::kFloat: return 0x7f800000u;
    case ElementType::kFloat16: return 0x7c00;
    case ElementType::kBFloat16: return 0x7f80;
    case ElementType::kFloat8E5M2: return 0x7c;
    default: return 0;
  }
}

void Never(const void* const*, unsigned, void* output, int64_t count, const void*) {
  std::memset(output, 0, static_cast<size_t>(count));
}

Elementwise BodyOf(const KernelInfo& info) {
  const int bits = BitWidth(info.input_type(0));
  const uint64_t plus = InfinityOf(info.input_type(0)), minus = plus | uint64_t{1} << (bits - 1);
  const IsInfAttributes attributes(info.node());
  const uint64_t first = attributes.positive ? plus : minus, second = attributes.negative ? minus : plus;
  Elementwise body{HWY_DYNAMIC_DISPATCH(FindIsInfLoop)(bits), 0.1};
  body.on_halves = true;
  body.to_bool = true;
  if (plus == 0 || !(attributes.positive || attributes.negative)) body.loop = Never;
  const auto set = [&]<class U>(U) { body.set_params(Infinities<U>{static_cast<U>(first), static_cast<U>(second)}); };
  switch (bits) {
    case 8: set(uint8_t{}); break;
    case 16: set(uint16_t{}); break;
    case 32: set(uint32_t{}); break;
    default: set(uint64_t{});
  }
  return body;
}

std::unique_ptr<Kernel> MakeIsInf(const KernelInfo& info) { return std::make_unique<UnaryKernel>(info, BodyOf(info)); }

}  // namespace

void RegisterIsInf(KernelRegistry& registry) {
  registry.Add(Op("IsInf").Versions(10).Types(0, kFloats | kFloats8).Factory(MakeIsInf));
}

}  // namespace tessera::cpu
#endif
