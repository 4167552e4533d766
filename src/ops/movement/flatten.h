#pragma once

// Flatten (1, 9, 11, 13, 21, 23, 24, 25): a matrix whose rows are the dimensions before the axis.

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct FlattenAttributes {
  explicit FlattenAttributes(const Node& node) : axis(AttributeOr<int64_t>(node, "axis", 1)) {}

  /// Whether it names a dimension, or what is behind the last.
  bool Fits(size_t rank) const {
    const auto r = static_cast<int64_t>(rank);
    return axis >= -r && axis <= r;
  }
  /// Throws Error where the axis does not fit.
  Shape ResultShape(const Shape& x) const {
    const auto r = static_cast<int64_t>(x.rank());
    Require(Fits(x.rank()), "axis {} is outside [{}, {}]", axis, -r, r);
    const auto at = static_cast<size_t>(axis < 0 ? axis + r : axis);
    return {x.SizeOfRange(0, at), x.SizeOfRange(at, x.rank())};
  }

  int64_t axis;
};

}  // namespace tessera
