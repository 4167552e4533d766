#pragma once

// A tensor seen around one axis.

#include <cstdint>

#include "base/checked.h"
#include "tessera/shape.h"

namespace tessera::cpu {

/// `axis` counted from the front; throws Error when it is out of [-rank, rank).
inline size_t NormalizeAxis(int64_t axis, size_t rank) {
  const int64_t signed_rank = static_cast<int64_t>(rank);
  Require(axis >= -signed_rank && axis < signed_rank, "axis {} is out of range for a tensor of rank {}", axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

/// [outer, count, inner]: element (o, i, k) lies at (o * count + i) * inner + k.
struct AxisView {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  AxisView(const Shape& shape, size_t axis)
      : outer(shape.SizeOfRange(0, axis)), count(shape[axis]), inner(shape.SizeOfRange(axis + 1, shape.rank())) {}
  AxisView(int64_t outer_size, int64_t count_size, int64_t inner_size)
      : outer(outer_size), count(count_size), inner(inner_size) {}
};

}  // namespace tessera::cpu
