#pragma once

// GatherND and ScatterND address slices of a tensor by tuples of indices.

#include <span>

#include "cpu/engine/indices.h"

namespace tessera::cpu {

struct TupleGeometry {
  const int64_t* dims;   // the dimensions that a tuple addresses
  const int64_t* steps;  // elements from one index to the next in each
  int64_t depth;
};

/// Offset in elements of the slice that `tuple` names; throws Error on an index outside.
inline int64_t TupleOffset(const TupleGeometry& g, const int64_t* tuple) {
  int64_t offset = 0;
  for (int64_t d = 0; d < g.depth; ++d) offset += NormalizeIndex(tuple[d], g.dims[d]) * g.steps[d];
  return offset;
}

/// Fills `steps` for the dimensions [first, first + steps.size()) of `shape`; returns the elements of a slice.
inline int64_t TupleSteps(const Shape& shape, size_t first, std::span<int64_t> steps) {
  const int64_t slice = shape.SizeOfRange(first + steps.size(), shape.rank());
  int64_t step = slice;
  for (size_t i = steps.size(); i-- > 0;) {
    steps[i] = step;
    step *= shape[first + i];
  }
  return slice;
}

}  // namespace tessera::cpu
