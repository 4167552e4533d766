#pragma once

// Range (11, 27): start, start + delta, ... up to limit.

#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "base/check.h"
#include "tessera/value.h"

namespace tessera {

/// How many elements it has, of integers of any type. Nothing where there are 2^62 or more. `delta` must not be 0.
inline std::optional<int64_t> RangeLength(int64_t start, int64_t limit, int64_t delta) noexcept {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  const auto first = static_cast<uint64_t>(start), last = static_cast<uint64_t>(limit), step = static_cast<uint64_t>(delta);
  const uint64_t distance = delta > 0 ? last - first : first - last;
  const uint64_t count = (distance - 1) / (delta > 0 ? step : 0 - step) + 1;
  return count < uint64_t{1} << 62 ? std::optional(static_cast<int64_t>(count)) : std::nullopt;
}

/// Of floating-point numbers; `distance` is limit - start as their type has it, as shape inference does. Nothing where that
/// is not a number or larger than 2^53.
inline std::optional<int64_t> RangeLength(double distance, double delta) noexcept {
  const double count = std::ceil(distance / delta);
  if (count <= 0) return 0;
  return count < 0x1p53 ? std::optional(static_cast<int64_t>(count)) : std::nullopt;
}

template <class T>
struct RangeBounds {
  /// Of the three inputs, in host memory. Throws Error where one is no single T, or delta is 0.
  RangeBounds(const Tensor& start_input, const Tensor& limit_input, const Tensor& delta_input)
      : start(Scalar(start_input, "start")), limit(Scalar(limit_input, "limit")), delta(Scalar(delta_input, "delta")) {
    Require(delta != 0, "delta is 0");
  }

  /// Throws Error where there is none that memory could hold.
  int64_t Count() const {
    std::optional<int64_t> length;
    if constexpr (std::is_integral_v<T>) {
      length = RangeLength(int64_t{start}, int64_t{limit}, int64_t{delta});
    } else {
      length = RangeLength(static_cast<double>(limit - start), static_cast<double>(delta));
    }
    Require(length.has_value(), "a range from {} to {} in steps of {} has no length or too large a one", ToPrint(start),
            ToPrint(limit), ToPrint(delta));
    return *length;
  }

  T start, limit, delta;

 private:
  static T Scalar(const Tensor& tensor, const char* name) {
    Require(tensor.is(ElementTypeOf<T>), "{} is {}, expected {}", name, ElementTypeName(tensor.type()),
            ElementTypeName(ElementTypeOf<T>));
    Require(tensor.num_elements() == 1, "{} has {} elements, expected one", name, tensor.num_elements());
    return *tensor.data<T>();
  }
  /// Halves are printed as numbers.
  static auto ToPrint(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return static_cast<double>(x);
    }
  }
};

}  // namespace tessera
