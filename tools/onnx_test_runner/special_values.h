#pragma once

#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/value.h"

namespace tessera::runner {

/// A number that formulas were not made for.
struct SpecialValue {
  std::string_view name;
  float number;
  bool everywhere = false;  // instead of in one place of each input
};

inline constexpr std::array<SpecialValue, 7> kSpecialValues = {
    {{"NaN", std::numeric_limits<float>::quiet_NaN()},
     {"infinity", std::numeric_limits<float>::infinity()},
     {"-infinity", -std::numeric_limits<float>::infinity()},
     {"-0", -0.0f},
     {"a subnormal number", 3 * std::numeric_limits<float>::denorm_min()},
     {"nothing but zeros", 0.0f, true},
     {"nothing but -infinity", -std::numeric_limits<float>::infinity(), true}}};

/// Copies of the inputs, with the number in the tensors of floating-point types; nothing where it stands in none.
std::vector<Value> WithSpecialValue(std::span<const Value> inputs, const SpecialValue& special);

}  // namespace tessera::runner
