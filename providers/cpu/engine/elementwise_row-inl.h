// Rows of elementwise operators, compiled once per instruction set: include it after hwy/highway.h in a file that
// foreach_target.h includes again. A formula is an expression over
//
//   TESSERA_UNARY, TESSERA_BINARY                x, or a and b: one element, of type T (see RowTypes)
//                                                W: T, or for integers the unsigned type that T's arithmetic wraps in
//   TESSERA_VECTOR_UNARY, TESSERA_VECTOR_BINARY  x, or a and b: a vector of them; d: its tag, as Highway wants it
//   all of them                                  alpha and beta: the attributes, of type T (double where T is an integer)
//
// The compiler vectorizes the first kind; the second is for what it would not, with functions of math-inl.h. Its value
// becomes a T, or, where it is a bool, stays one.

#if defined(TESSERA_ELEMENTWISE_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ELEMENTWISE_ROW_INL_H_
#undef TESSERA_ELEMENTWISE_ROW_INL_H_
#else
#define TESSERA_ELEMENTWISE_ROW_INL_H_
#endif

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "cpu/engine/elementwise-inl.h"
#include "cpu/engine/elementwise_row.h"
#include "tessera/numeric.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

/// What the attributes are for elements of type T.
template <class T>
using RealOf = std::conditional_t<std::is_same_v<T, double> || std::is_integral_v<T>, double, float>;

/// A formula as what UnaryLoop and BinaryLoop take.
template <class T, class F>
struct OnElements {
  Constants<RealOf<T>> constants;
  template <class... Ts>
  auto operator()(Ts... elements) const {
    return F()(elements..., constants.alpha, constants.beta);
  }
};

/// A formula as what VectorUnaryLoop and VectorBinaryLoop take.
template <class T, class F>
struct OnVectors {
  Constants<T> constants;
  template <class D, class... V>
  HWY_INLINE auto operator()(D d, V... vectors) const {
    return F()(d, vectors..., hn::Set(d, constants.alpha), hn::Set(d, constants.beta));
  }
};

// Kinds of rows: the loop of a formula, and what an element takes by default.
struct Unary {
  template <class T, class F>
  using Result = std::invoke_result_t<F, T, RealOf<T>, RealOf<T>>;
  template <class T, class F>
  static constexpr SpanLoop kLoop = UnaryLoop<T, Result<T, F>, OnElements<T, F>>;
  static constexpr double kCost = 0.2, kWideCost = 0.2;
};
struct Binary {
  template <class T, class F>
  using Result = std::invoke_result_t<F, T, T, RealOf<T>, RealOf<T>>;
  template <class T, class F>
  static constexpr SpanLoop kLoop = BinaryLoop<T, Result<T, F>, OnElements<T, F>>;
  static constexpr double kCost = 0.2, kWideCost = 0.2;
};
struct VectorUnary {
  template <class T, class F>
  using Result = T;
  template <class T, class F>
  static constexpr SpanLoop kLoop = VectorUnaryLoop<T, OnVectors<T, F>>;
  static constexpr double kCost = 1, kWideCost = 6;
};
struct VectorBinary {
  template <class T, class F>
  using Result = T;
  template <class T, class F>
  static constexpr SpanLoop kLoop = VectorBinaryLoop<T, OnVectors<T, F>>;
  static constexpr double kCost = 1, kWideCost = 6;
};

/// What a formula sees of elements that are stored as E.
template <class E, RowTypes::Seen kSeen>
struct SeenAs {
  using T = E;
};
template <RowTypes::Seen kSeen>
struct SeenAs<bool, kSeen> {
  using T = uint8_t;
};
template <std::integral E>
  requires(!std::same_as<E, bool>)
struct SeenAs<E, RowTypes::Seen::kAsUnsigned> {
  using T = std::make_unsigned_t<E>;
};

/// Whether a row has a loop for E: unless it is kAsStored, that of float is for the 16-bit floats, too.
constexpr bool HasLoop(RowTypes types, ElementType type) {
  return types.set.contains(type) && (types.seen == RowTypes::Seen::kAsStored || !IsHalf(type));
}

/// The loop for elements of `type`. `Types` is a lambda that gives the RowTypes.
template <class Kind, class Types, class F, class... E>
SpanLoop FindLoop(ElementType type, TypeList<E...>) {
  constexpr RowTypes kTypes = Types()();
  SpanLoop loop = nullptr;
  const auto look_at = [&]<class One>() {
    if constexpr (HasLoop(kTypes, ElementTypeOf<One>)) {
      if (type == ElementTypeOf<One>) loop = Kind::template kLoop<typename SeenAs<One, kTypes.seen>::T, F>;
    }
  };
  (look_at.template operator()<E>(), ...);
  return loop;
}

/// Tests and comparisons give bools whatever they are of, so that one type tells of all.
template <class Kind, class Types, class F>
constexpr ElementwiseRow MakeRow(const char* op_type, int version, Types, F) {
  constexpr RowTypes kTypes = Types()();
  using Example = std::conditional_t<kTypes.seen == RowTypes::Seen::kAsStored, Float16,
                                     std::conditional_t<kTypes.set.contains(ElementType::kFloat), float, uint8_t>>;
  return {.op_type = op_type,
          .version = version,
          .types = kTypes,
          .to_bool = std::is_same_v<typename Kind::template Result<Example, F>, bool> &&
                     !(kTypes.set == TypeSet{ElementType::kBool}),
          .loop = [](ElementType type) { return FindLoop<Kind, Types, F>(type, RowElements{}); },
          .cost_ns = Kind::kCost,
          .wide_cost_ns = Kind::kWideCost};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

// Defined once: HWY_ATTR and what MakeRow is are those of the place where a row stands.
#ifndef TESSERA_UNARY
#define TESSERA_CONSTANTS [[maybe_unused]] auto alpha, [[maybe_unused]] auto beta
// The conversion is part of the expression: so the compiler computes it in a narrow type where that gives the same bits.
#define TESSERA_SCALAR_FORMULA(element, ...)                                                 \
  HWY_ATTR {                                                                                 \
    using T = decltype(element);                                                             \
    using W [[maybe_unused]] = Wrapping<T>;                                                  \
    using Result = std::conditional_t<std::is_same_v<decltype(__VA_ARGS__), bool>, bool, T>; \
    return static_cast<Result>(__VA_ARGS__);                                                 \
  }
// Inlined, whatever its length.
#define TESSERA_VECTOR_FORMULA(...) \
  __attribute__((always_inline)) HWY_ATTR { return __VA_ARGS__; }
#define TESSERA_ROW(kind, op_type, version, types, ...) \
  MakeRow<kind>(#op_type, version, [] { return RowTypes(types); }, __VA_ARGS__)

#define TESSERA_UNARY(op_type, version, types, ...) \
  TESSERA_ROW(Unary, op_type, version, types, [](auto x, TESSERA_CONSTANTS) TESSERA_SCALAR_FORMULA(x, __VA_ARGS__))
#define TESSERA_BINARY(op_type, version, types, ...) \
  TESSERA_ROW(Binary, op_type, version, types, [](auto a, auto b, TESSERA_CONSTANTS) TESSERA_SCALAR_FORMULA(a, __VA_ARGS__))
#define TESSERA_VECTOR_UNARY(op_type, version, types, ...) \
  TESSERA_ROW(VectorUnary, op_type, version, types,        \
              []([[maybe_unused]] auto d, auto x, TESSERA_CONSTANTS) TESSERA_VECTOR_FORMULA(__VA_ARGS__))
#define TESSERA_VECTOR_BINARY(op_type, version, types, ...) \
  TESSERA_ROW(VectorBinary, op_type, version, types,        \
              []([[maybe_unused]] auto d, auto a, auto b, TESSERA_CONSTANTS) TESSERA_VECTOR_FORMULA(__VA_ARGS__))
#endif

#endif  // toggle
