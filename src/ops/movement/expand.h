#pragma once

// Expand (8, 13): the shape that an input and the one asked for broadcast to.

#include <algorithm>

#include "base/check.h"
#include "ops/integer_list.h"

namespace tessera {

/// The shape that x and `wanted`, in host memory, broadcast to. Throws Error where they do not.
inline Shape ExpandedShape(const Shape& x, const Tensor& wanted) {
  const IntegerList sizes(wanted, "shape");
  const size_t rank = std::max(x.rank(), sizes.size()), skip_x = rank - x.rank(), skip_sizes = rank - sizes.size();
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t have = i < skip_x ? 1 : x[i - skip_x], want = i < skip_sizes ? 1 : sizes[i - skip_sizes];
    Require(want >= 0 && (have == want || have == 1 || want == 1), "dimension {} of shape {} cannot be broadcast to {}", i,
            x, want);
    result[i] = have == 1 ? want : have;
  }
  return result;
}

}  // namespace tessera
