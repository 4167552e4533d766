#pragma once

// A tensor seen around one axis.

#include <cstdint>

#include "base/checked.h"
#include "engine/indices.h"
#include "tessera/shape.h"

namespace tessera::cpu {

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
