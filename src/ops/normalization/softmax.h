#pragma once

// Softmax, LogSoftmax, Hardmax (1, 11, 13).

#include "ops/axis.h"
#include "tessera/provider/attributes.h"

namespace tessera {

/// Before version 13 the input is seen as a matrix whose rows begin at the axis; from then on one axis is a row.
struct SoftmaxAttributes {
  explicit SoftmaxAttributes(const Node& node)
      : flattens(node.since_version < 13), axis(AttributeOr<int64_t>(node, "axis", flattens ? 1 : -1)) {}

  /// The rows lie along the view's axis. Throws Error where the axis is outside of the input.
  AxisView View(const Shape& shape) const {
    const size_t first = NormalizeAxis(axis, shape.rank());
    if (!flattens) return AxisView(shape, first);
    return AxisView(shape.SizeOfRange(0, first), shape.SizeOfRange(first, shape.rank()), 1);
  }

  bool flattens;
  int64_t axis;
};

}  // namespace tessera
