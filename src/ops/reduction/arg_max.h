#pragma once

// ArgMax, ArgMin (1, 11, 12, 13).

#include "base/check.h"
#include "ops/axis.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct ArgMaxAttributes {
  explicit ArgMaxAttributes(const Node& node)
      : axis(AttributeOr<int64_t>(node, "axis", 0)),
        keepdims(AttributeOr<int64_t>(node, "keepdims", 1) != 0),
        select_last_index(AttributeOr<int64_t>(node, "select_last_index", 0) != 0) {}

  /// Throws Error where the axis is outside of the input, or has no element to choose for a result.
  Shape ResultShape(const Shape& x) const {
    const size_t at = NormalizeAxis(axis, x.rank());
    Shape result;
    for (size_t i = 0; i < x.rank(); ++i) {
      if (i != at) result.Append(x[i]);
      if (i == at && keepdims) result.Append(1);
    }
    Require(x[at] > 0 || result.num_elements() == 0, "axis {} has no elements to choose from in a tensor of shape {}", axis,
            x);
    return result;
  }

  int64_t axis;
  bool keepdims, select_last_index;
};

}  // namespace tessera
