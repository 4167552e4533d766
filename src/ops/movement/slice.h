#pragma once

// What Slice takes of one axis.

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tessera {

struct SliceRange {
  int64_t start, count, step;
};

/// Bounds are clamped as the operator's text says, negative ones after the axis' length is added: the start to an element,
/// or behind the last for a step forwards, the end to what lies beside the elements. So a step backwards from before the
/// first element takes that one, unlike in numpy. `step` must not be 0.
inline SliceRange ClampSlice(int64_t start, int64_t end, int64_t step, int64_t dim) {
  step = std::max(step, -std::numeric_limits<int64_t>::max());
  if (dim == 0) return {0, 0, step};
  const int64_t before = step > 0 ? 0 : -1, last = step > 0 ? dim : dim - 1;
  const auto clamp = [&](int64_t bound, int64_t low) { return std::clamp(bound < 0 ? bound + dim : bound, low, last); };
  start = clamp(start, 0);
  end = clamp(end, before);
  const int64_t span = step > 0 ? end - start : start - end;
  return {start, span > 0 ? (span - 1) / (step > 0 ? step : -step) + 1 : 0, step};
}

}  // namespace tessera
