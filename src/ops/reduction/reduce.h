#pragma once

// ReduceSum, ReduceMean and the other reductions (1, 11, 12, 13, 18, 20): axes are an attribute, or an input from some
// version on.

#include <span>
#include <vector>

#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

/// One element per dimension of `shape`: 1 where `axes` names it (negative from the end), all 1 when `axes` is empty.
/// Throws Error for axes out of range; an axis named twice counts once.
Shape ReducedDimensions(const Shape& shape, std::span<const int64_t> axes);

/// The shape after reduction, with or without the reduced dimensions as 1.
Shape ReducedShape(const Shape& shape, const Shape& reduced, bool keepdims);

struct ReduceAttributes {
  explicit ReduceAttributes(const Node& node)
      : axes(AttributeOr<std::vector<int64_t>>(node, "axes", {})),
        keepdims(AttributeOr<int64_t>(node, "keepdims", 1) != 0),
        noop_with_empty_axes(AttributeOr<int64_t>(node, "noop_with_empty_axes", 0) != 0) {}

  /// As ReducedDimensions, for the axes that count: the attribute's, or the input's where there is one. Without any, all
  /// dimensions are reduced or none.
  Shape Reduced(const Shape& shape, std::span<const int64_t> given) const {
    return given.empty() && noop_with_empty_axes ? Shape(shape.rank(), 0) : ReducedDimensions(shape, given);
  }

  std::vector<int64_t> axes;
  bool keepdims, noop_with_empty_axes;
};

}  // namespace tessera
