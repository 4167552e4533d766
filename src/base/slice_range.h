#pragma once

// What Slice takes of one axis.

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tessera {

struct SliceRange {
  int64_t start, count, step;
};

/// Bounds are clamped as numpy clamps them, negative ones after the axis' length is added: a negative step from before the first
/// element takes none. `step` must not be 0.
inline SliceRange ClampSlice(int64_t start, int64_t end, int64_t step, int64_t dim) {
  step = std::max(step, -std::numeric_limits<int64_t>::max());
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  const auto clamp = [&](int64_t bound) { return std::clamp(bound < 0 ? bound + dim : bound, low, high); };
  start = clamp(start);
  end = clamp(end);
  const int64_t span = step > 0 ? end - start : start - end;
  return {start, span > 0 ? (span - 1) / (step > 0 ? step : -step) + 1 : 0, step};
}

}  // namespace tessera
