// Pow (1, 7, 12, 13, 15). The exponent may be of any numeric type: blocks of it become float, double or int64 first.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/math/pow.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/cast.h"
#include "cpu/engine/elementwise-inl.h"
#include "kernels/elementwise/math-inl.h"
#include "kernels/elementwise/truncate-inl.h"

#ifndef TESSERA_OPS_POW_ONCE
#define TESSERA_OPS_POW_ONCE
namespace tessera::cpu {

/// Exponents that need no logarithm.
enum class SimplePower { kNone, kOne, kTwo, kThree, kFour, kHalf, kMinusOne };

/// x^simple on `count` floats or doubles.
using SimplePowerLoop = void (*)(SimplePower power, const void* x, void* y, int64_t count);

struct PowLoops {
  SpanLoop floats;
  SimplePowerLoop simple_floats;
  SimplePowerLoop simple_doubles;
};

}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

/// ln(x) of x >= 0 that was a float: never subnormal.
template <class D, class V>
HWY_INLINE V LogOfFloat(D d, V x) {
  const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const V y = hn::IfThenElse(hn::Lt(x, infinity), vmath::LogOfNormal(d, x), x);  // infinity and NaN
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
}

/// e^x with float's accuracy; beyond float's range anything that rounds to its infinity or zero.
template <class D, class V>
HWY_INLINE V ExpToFloat(D d, V x) {
  constexpr double kC[] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320};
  // The operand order keeps NaN.
  x = hn::Min(hn::Set(d, 130.0), hn::Max(hn::Set(d, -160.0), x));
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.4426950408889634074)));
  const V r = hn::NegMulAdd(n, hn::Set(d, 0.69314718055994530942), x);
  return hn::Mul(vmath::Polynomial(d, r, kC), vmath::Pow2(d, n));
}

/// x^y on doubles with float's accuracy, all special cases included.
template <class D, class V>
HWY_INLINE V PowDouble(D d, V x, V y) {
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0);
  const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const V magnitude = hn::Abs(x);
  V power = ExpToFloat(d, hn::Mul(y, LogOfFloat(d, magnitude)));
  const V half = hn::Mul(y, hn::Set(d, 0.5));
  const auto integral = hn::Eq(hn::Floor(y), y);  // infinities too
  const auto odd = hn::AndNot(hn::Eq(hn::Floor(half), half), integral);
  const auto negative = hn::And(hn::Lt(x, zero), hn::Lt(magnitude, infinity));
  power = hn::IfThenElse(hn::AndNot(integral, negative), hn::Set(d, std::numeric_limits<double>::quiet_NaN()), power);
  power = hn::IfThenElse(odd, hn::Or(power, hn::And(x, hn::SignBit(d))), power);
  // 1 to any power, NaN included, -1 to the infinite ones, and anything to the power of 0.
  const auto unit = hn::And(hn::Eq(magnitude, one), hn::Eq(hn::Abs(y), infinity));
  return hn::IfThenElse(hn::Or(hn::Or(hn::Eq(x, one), hn::Eq(y, zero)), unit), one, power);
}

struct PowOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const hn::Half<D> half;
    const hn::RepartitionToWide<D> wide;
    const auto low =
        PowDouble(wide, hn::PromoteTo(wide, hn::LowerHalf(half, x)), hn::PromoteTo(wide, hn::LowerHalf(half, y)));
    const auto high =
        PowDouble(wide, hn::PromoteTo(wide, hn::UpperHalf(half, x)), hn::PromoteTo(wide, hn::UpperHalf(half, y)));
    return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
  }
};

template <class T, class F>
HWY_INLINE void Map(const T* x, T* y, int64_t count, F f) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = f(x[i]);
}

template <class T>
void SimplePowers(SimplePower power, const void* in, void* out, int64_t count) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  switch (power) {
    case SimplePower::kTwo: return Map(x, y, count, [](T v) { return v * v; });
    case SimplePower::kThree: return Map(x, y, count, [](T v) { return v * v * v; });
    case SimplePower::kFour: return Map(x, y, count, [](T v) { return (v * v) * (v * v); });
    case SimplePower::kMinusOne: return Map(x, y, count, [](T v) { return T(1) / v; });
    // pow differs from the square root at -infinity and -0.
    case SimplePower::kHalf: return Map(x, y, count, [](T v) { return v == -kInfinity ? kInfinity : std::sqrt(v) + T(0); });
    default: return Map(x, y, count, [](T v) { return v; });
  }
}

}  // namespace

PowLoops FindPowLoops() { return {VectorBinaryLoop<float, PowOf>, SimplePowers<float>, SimplePowers<double>}; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindPowLoops);

namespace {

constexpr int64_t kBlock = 256;

SimplePower ToSimplePower(double y) {
  return y == 1      ? SimplePower::kOne
         : y == 2    ? SimplePower::kTwo
         : y == 3    ? SimplePower::kThree
         : y == 4    ? SimplePower::kFour
         : y == 0.5  ? SimplePower::kHalf
         : y == -1.0 ? SimplePower::kMinusOne
                     : SimplePower::kNone;
}

/// What the loops need besides the elements. `exponent` converts input 1 to float, double or int64.
struct Exponents {
  ElementCast cast;
  ElementCast to_double;
  bool is_unsigned;
  PowLoops loops;
};

/// Powers of integers wrap; 1 / x^n truncates (0 for a base of 0).
template <class T>
T IntegerPower(T base, int64_t exponent, bool is_unsigned) {
  if (exponent < 0 && !is_unsigned) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t square = static_cast<uint64_t>(static_cast<int64_t>(base));
  uint64_t result = 1;
  for (uint64_t n = static_cast<uint64_t>(exponent); n != 0; n >>= 1) {
    if ((n & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

/// `count` results with exponents of the type that the base is raised in: double, or int64 for integers to integers.
template <class T, class E>
void Powers(const T* x, int64_t x_step, const E* y, int64_t y_step, T* z, int64_t count, bool is_unsigned) {
  for (int64_t i = 0; i < count; ++i) {
    const T base = x[i * x_step];
    const E exponent = y[i * y_step];
    if constexpr (std::is_integral_v<E>) z[i] = IntegerPower(base, exponent, is_unsigned);
    else if constexpr (std::is_integral_v<T>)
      z[i] = HWY_NAMESPACE::Truncate<T>(std::pow(static_cast<double>(base), exponent));
    else z[i] = static_cast<T>(std::pow(static_cast<double>(base), exponent));
  }
}

/// The span loop for a base of type T and exponents that are computed in as E.
template <class T, class E>
void Loop(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void* params) {
  const Exponents* const exponents = *static_cast<const Exponents* const*>(params);
  const T* x = static_cast<const T*>(inputs[0]);
  T* z = static_cast<T*>(output);
  const int64_t x_step = advancing & 1;
  const int64_t y_step = advancing >> 1 & 1;
  if constexpr (std::is_floating_point_v<T>) {
    if (y_step == 0 && x_step == 1) {
      double exponent;
      exponents->to_double.Run(inputs[1], 0, &exponent, 0, 1);
      if (const SimplePower power = ToSimplePower(exponent); power != SimplePower::kNone) {
        const SimplePowerLoop loop = sizeof(T) == 4 ? exponents->loops.simple_floats : exponents->loops.simple_doubles;
        return loop(power, x, z, count);
      }
    }
  }
  alignas(64) E block[kBlock];
  for (int64_t done = 0; done < count; done += kBlock) {
    const int64_t size = std::min(kBlock, count - done);
    if (done == 0 || y_step != 0) exponents->cast.Run(inputs[1], done, block, 0, y_step != 0 ? size : 1);
    if constexpr (std::is_same_v<E, float>) {
      const void* const operands[] = {x + done * x_step, block};
      exponents->loops.floats(operands, advancing, z + done, size, nullptr);
    } else {
      Powers(x + done * x_step, x_step, block, y_step, z + done, size, exponents->is_unsigned);
    }
  }
}

class Pow final : public BinaryKernel {
 public:
  explicit Pow(const KernelInfo& info) : BinaryKernel(info, {}), exponents_(MakeExponents(info)) {
    const ElementType base = ComputeTypeOf(info.input_type(0));
    switch (exponents_.cast.to()) {
      case ElementType::kInt64:
        body_ = {base == ElementType::kInt32 ? Loop<int32_t, int64_t> : Loop<int64_t, int64_t>, 5.0};
        break;
      case ElementType::kFloat: body_ = {Loop<float, float>, 2.0}; break;
      default:
        body_ = {base == ElementType::kInt32   ? Loop<int32_t, double>
                 : base == ElementType::kInt64 ? Loop<int64_t, double>
                 : base == ElementType::kFloat ? Loop<float, double>
                                               : Loop<double, double>,
                 15.0};
    }
    const Exponents* exponents = &exponents_;
    body_.set_params(exponents);
  }

 private:
  static Exponents MakeExponents(const KernelInfo& info) {
    const ElementType base = info.input_type(0);
    ElementType exponent = info.input_type(1);
    if (base == exponent) exponent = ComputeTypeOf(exponent);  // the half types of both arrive as float
    const bool integers = kInts.contains(base) && kInts.contains(exponent);
    const bool fits_float =
        exponent == ElementType::kFloat || IsHalf(exponent) || (kInts.contains(exponent) && BitWidth(exponent) <= 16);
    const ElementType type = integers                                                   ? ElementType::kInt64
                             : ComputeTypeOf(base) == ElementType::kFloat && fits_float ? ElementType::kFloat
                                                                                        : ElementType::kDouble;
    return {ElementCast(exponent, type), ElementCast(exponent, ElementType::kDouble), kUnsignedInts.contains(exponent),
            HWY_DYNAMIC_DISPATCH(FindPowLoops)()};
  }

  const Exponents exponents_;
};

}  // namespace

void RegisterPow(KernelRegistry& registry) {
  registry.Add(Op("Pow")
                   .Versions(1)
                   .Types(0, kFloats | TypeSet{ElementType::kInt32, ElementType::kInt64})
                   .Types(1, kNumbers)
                   .InPlace(0, 0)
                   .Make<Pow>());
}

}  // namespace tessera::cpu
#endif
