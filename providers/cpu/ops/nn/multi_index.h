#pragma once

#include <span>

#include "tessera/shape.h"

namespace tessera::cpu {

/// Calls `visit(index)` for every multi-index of `shape` in row-major order; an empty shape has one.
template <class Visit>
void ForEachIndex(std::span<const int64_t> shape, Visit&& visit) {
  for (int64_t dim : shape) {
    if (dim <= 0) return;
  }
  Shape index(shape.size());
  while (true) {
    visit(static_cast<const Shape&>(index));
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace tessera::cpu
