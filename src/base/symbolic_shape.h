#pragma once

#include "tessera/shape.h"

namespace tessera {

/// A shape as the graph tells it, every dimension known.
inline SymbolicShape ToSymbolic(const Shape& shape) {
  SymbolicShape result(shape.rank());
  for (size_t i = 0; i < shape.rank(); ++i) result[i].value = shape[i];
  return result;
}

}  // namespace tessera
