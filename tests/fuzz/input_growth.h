#pragma once

// Inputs made larger so that a run takes longer: they are repeated along axes of one size, which fit each other more often
// than not, or have larger numbers where they are sizes.

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/value.h"

namespace tessera::fuzz {

/// One way of growing: all axes of one size, one axis, or a number in an input.
struct Growth {
  int64_t size = 0;  // of axes; 0: not this way
  int input = -1;
  int axis = -1;         // of the input
  int64_t element = -1;  // of the input, a number
  auto operator<=>(const Growth&) const = default;
};

/// The inputs grown `times`; nothing where the way is not theirs.
std::optional<std::vector<Value>> Grow(const std::vector<Value>& inputs, const Growth& way, int64_t times);

/// All ways in which these may grow.
std::vector<Growth> WaysOf(const std::vector<Value>& inputs);

double BytesOf(const std::vector<Value>& inputs);

}  // namespace tessera::fuzz
