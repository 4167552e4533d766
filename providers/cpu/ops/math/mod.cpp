// Mod (10, 13, 28).

#include <cmath>
#include <type_traits>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/math/mod.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"
#include "cpu/ops/math/quotient-inl.h"
#include "ops/math/mod.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

/// What `quotient` leaves of a; kFloor: with the sign of the divisor, as Python's %, instead of the dividend's. Whole
/// divisions by 0 leave 0.
template <bool kFloor, class T>
T Remainder(T a, T b, T quotient) {
  using U = Wrapping<T>;
  const T rest = static_cast<T>(static_cast<U>(a) - static_cast<U>(quotient) * static_cast<U>(b));
  const T r = b == T(0) ? T(0) : rest;
  if constexpr (kFloor && std::is_signed_v<T>) {
    // No branch: whether something is left is hard to predict.
    const auto opposite = static_cast<T>(-static_cast<T>((r != T(0)) & ((r ^ b) < 0)));
    return static_cast<T>(r + (b & opposite));
  } else {
    return r;
  }
}

template <bool kFloor>
struct ModOf {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      T r = std::fmod(a, b);
      if constexpr (kFloor) {
        if (r == T(0)) return std::copysign(T(0), b);
        if ((r < T(0)) != (b < T(0))) r += b;
      }
      return r;
    } else {
      return Remainder<kFloor>(a, b, Quotient(a, b));
    }
  }
};

/// ModOf reals, of vectors: what a fused multiplication leaves is exact, as it is a multiple of the divisor's last place
/// and less than the divisor. Vectors with quotients that are not whole numbers' neighbours any more, or no numbers, go one
/// by one.
template <bool kFloor>
struct VectorModOf {
  template <class D, class V>
  V operator()(D d, V a, V b) const {
    using T = hn::TFromD<D>;
    const V size = hn::Abs(a), divisor = hn::Abs(b);
    const V quotient = hn::Trunc(hn::Div(size, divisor));
    const auto less = hn::Lt(size, divisor);
    if (!hn::AllTrue(d, hn::Or(less, hn::Lt(quotient, hn::Set(d, sizeof(T) == 4 ? T(0x1p22) : T(0x1p51))))))
      return OneByOne(d, a, b);
    V rest = hn::NegMulAdd(quotient, divisor, size);
    rest = hn::IfThenElse(hn::Lt(rest, hn::Zero(d)), hn::Add(rest, divisor), rest);  // the quotient was rounded up
    rest = hn::CopySign(hn::IfThenElse(less, size, rest), a);
    if constexpr (kFloor) {
      const auto none = hn::Eq(rest, hn::Zero(d)), opposite = hn::Lt(hn::CopySign(hn::Set(d, T(1)), a), hn::Zero(d));
      const auto differs = hn::Xor(opposite, hn::Lt(b, hn::Zero(d)));
      rest = hn::IfThenElse(none, hn::CopySign(hn::Zero(d), b), hn::IfThenElse(differs, hn::Add(rest, b), rest));
    }
    return rest;
  }

 private:
  template <class D, class V>
  HWY_NOINLINE static V OneByOne(D d, V a, V b) {
    using T = hn::TFromD<D>;
    HWY_ALIGN T x[HWY_MAX_BYTES / sizeof(T)], y[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(a, d, x);
    hn::Store(b, d, y);
    for (size_t i = 0; i < hn::Lanes(d); ++i) x[i] = ModOf<kFloor>()(x[i], y[i]);
    return hn::Load(d, x);
  }
};

template <bool kFloor>
void ModInt64Loop(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void* params) {
  const int64_t divisor = *static_cast<const int64_t*>(inputs[1]);
  if ((advancing & 3) != 1 || !InvariantDivisor::Suits(divisor, count)) {
    return BinaryLoop<int64_t, int64_t, ModOf<kFloor>>(inputs, advancing, output, count, params);
  }
  const InvariantDivisor by(divisor);
  const auto* x = static_cast<const int64_t*>(inputs[0]);
  auto* y = static_cast<int64_t*>(output);
  for (int64_t i = 0; i < count; ++i) y[i] = Remainder<kFloor>(x[i], divisor, by.Divide(x[i]));
}

template <bool kFloor>
SpanLoop LoopOf(ElementType type) {
  return LoopOfNumber(type, []<class T>() -> SpanLoop {
    if constexpr (std::is_same_v<T, int64_t>) return ModInt64Loop<kFloor>;
    else if constexpr (std::is_floating_point_v<T> && HWY_TARGET <= HWY_AVX2)
      return VectorBinaryLoop<T, VectorModOf<kFloor>>;
    else return BinaryLoop<T, T, ModOf<kFloor>>;
  });
}

}  // namespace

SpanLoop FindModLoop(bool floor, ElementType type) { return floor ? LoopOf<true>(type) : LoopOf<false>(type); }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindModLoop);

namespace {

class Mod final : public BinaryKernel {
 public:
  explicit Mod(const KernelInfo& info) : BinaryKernel(info, Body(info)) {
    Require(info.input_type(0) == info.input_type(1), "inputs are tensor({}) and tensor({}), expected one type",
            ElementTypeName(info.input_type(0)), ElementTypeName(info.input_type(1)));
  }

 private:
  static Elementwise Body(const KernelInfo& info) {
    const bool floor = !ModAttributes(info.node()).truncates;
    const SpanLoop loop = HWY_DYNAMIC_DISPATCH(FindModLoop)(floor, ComputeTypeOf(info.input_type(0)));
    if (loop == nullptr)
      Fail(ErrorCode::kNotImplemented, "no remainders of tensor({})", ElementTypeName(info.input_type(0)));
    return {loop, 2.0};
  }
};

}  // namespace

void RegisterMod(KernelRegistry& registry) {
  registry.Add(Op("Mod").Versions(10).Types(0, kNumbers).Types(1, kNumbers).InPlace(0, 0).InPlace(1, 0).Make<Mod>());
}

}  // namespace tessera::cpu
#endif
