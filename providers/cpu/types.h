#pragma once

// Element type sets that CPU kernels are registered for, and the one visitor that turns an ElementType into a C++ type.

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

inline constexpr TypeSet kFloats = {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16,
                                    ElementType::kBFloat16};
inline constexpr TypeSet kBytes = {ElementType::kUInt8, ElementType::kInt8};
inline constexpr TypeSet kSignedInts = {ElementType::kInt8, ElementType::kInt16, ElementType::kInt32, ElementType::kInt64};
inline constexpr TypeSet kUnsignedInts = {ElementType::kUInt8, ElementType::kUInt16, ElementType::kUInt32,
                                          ElementType::kUInt64};
inline constexpr TypeSet kInts = kSignedInts | kUnsignedInts;
inline constexpr TypeSet kNumbers = kFloats | kInts;

template <class... Ts>
struct TypeList {};

using FloatTypes = TypeList<float, double, Float16, BFloat16>;
using IntTypes = TypeList<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using NumberTypes =
    TypeList<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;

template <class... Ts>
constexpr TypeSet ToTypeSet(TypeList<Ts...>) {
  return TypeSet{ElementTypeOf<Ts>...};
}

/// Calls `visitor.template operator()<T>()` for the T of the list whose element type is `type`; throws Error when none is.
///   return VisitType(FloatTypes{}, info.input_type(0), [&]<class T>() -> std::unique_ptr<Kernel> { ... });
template <class... Ts, class Visitor>
decltype(auto) VisitType(TypeList<Ts...>, ElementType type, Visitor&& visitor) {
  using First = std::tuple_element_t<0, std::tuple<Ts...>>;
  using Result = decltype(visitor.template operator()<First>());
  if constexpr (std::is_void_v<Result>) {
    if (!((ElementTypeOf<Ts> == type && (visitor.template operator()<Ts>(), true)) || ...)) {
      Fail(ErrorCode::kNotImplemented, "element type {} is not supported here", ElementTypeName(type));
    }
  } else {
    Result result{};
    if (!((ElementTypeOf<Ts> == type && (result = visitor.template operator()<Ts>(), true)) || ...)) {
      Fail(ErrorCode::kNotImplemented, "element type {} is not supported here", ElementTypeName(type));
    }
    return result;
  }
}

/// A factory that makes K<T> for the element type of input `Input`.
template <template <class> class K, class List, size_t Input = 0>
std::unique_ptr<Kernel> MakeTyped(const KernelInfo& info) {
  return VisitType(List{}, info.input_type(Input),
                   [&]<class T>() -> std::unique_ptr<Kernel> { return std::make_unique<K<T>>(info); });
}

/// A factory that makes K<double> for double and K<float>, which computes in float, for every other type.
template <template <class> class K>
std::unique_ptr<Kernel> MakeComputed(const KernelInfo& info) {
  if (info.input_type(0) == ElementType::kDouble) return std::make_unique<K<double>>(info);
  return std::make_unique<K<float>>(info);
}

}  // namespace tessera::cpu
