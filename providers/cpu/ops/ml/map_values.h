#pragma once

// What CastMap and DictVectorizer share: the map that is input 0, and its values as elements of the result.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/string_memory.h"
#include "cpu/engine/number_text.h"
#include "cpu/types.h"

namespace tessera::cpu {

using MapValueTypes = TypeList<float, double, int64_t, int32_t, std::string>;

inline const Map& InputMap(const KernelContext& context) {
  const Value* input = context.input_value(0);
  Require(input != nullptr && !input->is_none(), "input 0 is required");
  const Map& map = input->map();
  Require(static_cast<size_t>(map.keys.num_elements()) == map.size(), "the map has {} keys and {} values",
          map.keys.num_elements(), map.size());
  return map;
}

inline const Tensor& Scalar(const Value& value) {
  const Tensor& tensor = value.tensor();
  Require(tensor.num_elements() == 1, "a map's value has shape {}, one element is expected", tensor.shape());
  return tensor;
}

/// The number that the text begins with.
template <class T>
T ParseNumber(const std::string& text) {
  char* end = nullptr;
  T number;
  if constexpr (std::is_integral_v<T>) {
    number = static_cast<T>(std::strtoll(text.c_str(), &end, 10));
  } else {
    number = static_cast<T>(strtod_l(text.c_str(), &end, NumberLocale()));
  }
  Require(end != text.c_str(), "'{}' is not a number", text);
  return number;
}

template <class T>
T Converted(const Value& value) {
  const Tensor& tensor = Scalar(value);
  T result{};
  VisitType(MapValueTypes{}, tensor.type(), [&]<class From>() {
    const From& from = *tensor.data<From>();
    if constexpr (std::is_same_v<From, T>) {
      result = from;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if constexpr (std::is_floating_point_v<From>) {
        result = fmt::format("{:f}", from);  // std::to_string follows the locale
      } else {
        result = std::to_string(from);
      }
    } else if constexpr (std::is_same_v<From, std::string>) {
      result = ParseNumber<T>(from);
    } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<From>) {
      Require(from > From(-9.2e18) && from < From(9.2e18), "{} does not fit int64", from);
      result = static_cast<T>(from);
    } else {
      result = static_cast<T>(from);
    }
  });
  return result;
}

/// Counts the texts of a map's values before they are written to `y`.
inline void ChargeTexts(KernelContext& context, const Map& map, Tensor& y) {
  constexpr size_t kLongestNumber = 330;  // of a double, with all its digits
  size_t bytes = 0;
  PacedCancellationPoint look(50);
  for (size_t i = 0; i < map.size(); ++i) {
    look.Pass();
    const Value value = map.at(i);
    const Tensor& element = Scalar(value);
    bytes = CheckedAdd(bytes,
                       TextBytes(element.is(ElementType::kString) ? element.data<std::string>()->size() : kLongestNumber));
  }
  StringCharge(y, context.allocator()).Add(bytes);
}

}  // namespace tessera::cpu
