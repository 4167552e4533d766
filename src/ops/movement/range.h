#pragma once

// How many elements Range has.

#include <cmath>
#include <cstdint>
#include <optional>

namespace tessera {

/// Of integers of any type. Nothing where there are 2^62 or more. `delta` must not be 0.
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

}  // namespace tessera
