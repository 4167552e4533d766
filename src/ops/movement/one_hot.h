#pragma once

// OneHot (9, 11, 28).

#include "base/check.h"
#include "ops/axis.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct OneHotAttributes {
  explicit OneHotAttributes(const Node& node)
      : axis(AttributeOr<int64_t>(node, "axis", -1)), wraps(node.since_version >= 11) {}

  /// The new dimension of the result. Throws Error where the axis is outside of it, or depth and values make no dimension.
  size_t Axis(const Shape& indices, int64_t depth, const Shape& values) const {
    Require(depth >= 0, "depth is {}", depth);
    Require(values == Shape{2}, "values has shape {}, expected [2]", values);
    return NormalizeAxis(axis, indices.rank() + 1);
  }
  static Shape ResultShape(const Shape& indices, int64_t depth, size_t at) {
    Shape result(indices.dims().first(at));
    result.Append(depth);
    for (size_t i = at; i < indices.rank(); ++i) result.Append(indices[i]);
    return result;
  }

  int64_t axis;
  bool wraps;  // negative indices count from the end
};

}  // namespace tessera
