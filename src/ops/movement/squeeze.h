#pragma once

// Squeeze, Unsqueeze (1, 11, 13, 21, 23, 24, 25): axes are an attribute before version 13, and an input from then on.

#include <optional>
#include <vector>

#include "base/check.h"
#include "ops/integer_list.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct SqueezeAttributes {
  explicit SqueezeAttributes(const Node& node) : from_attribute(node.since_version < 13) {
    const auto* given = FindTyped<std::vector<int64_t>>(node, "axes");
    if (from_attribute && given != nullptr) axes = *given;
  }

  /// The axes that count; `given` is input 1, in host memory, or null. Nothing where none are named.
  std::optional<IntegerList> Axes(const Tensor* given) const {
    if (from_attribute) return axes ? std::optional(IntegerList(*axes)) : std::nullopt;
    return given != nullptr ? std::optional(IntegerList(*given, "axes")) : std::nullopt;
  }

  bool from_attribute;
  std::optional<std::vector<int64_t>> axes;
};

/// Without the named dimensions, or without all of size 1. Throws Error where one is outside or of another size; an axis
/// named twice counts once.
inline Shape SqueezedShape(const Shape& x, const std::optional<IntegerList>& axes) {
  Shape drop(x.rank(), 0);
  for (size_t i = 0; axes && i < axes->size(); ++i) {
    const size_t axis = NormalizeAxis((*axes)[i], x.rank());
    Require(x[axis] == 1, "dimension {} of {} is not 1", axis, x);
    drop[axis] = 1;
  }
  Shape result;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (axes ? drop[i] == 0 : x[i] != 1) result.Append(x[i]);
  }
  return result;
}

/// With dimensions of 1 where the axes, of the result, are. Throws Error where one is outside or named twice.
inline Shape UnsqueezedShape(const Shape& x, const std::optional<IntegerList>& axes) {
  Require(axes.has_value(), "axes are required");
  Shape result(x.rank() + axes->size(), 0);
  MarkAxes(*axes, result.rank(), [&](size_t, size_t axis) { result[axis] = 1; });
  size_t next = 0;
  for (int64_t& dim : result) {
    // A zero that no axis marked is the place of the next input dimension.
    if (dim == 0) dim = x[next++];
  }
  return result;
}

}  // namespace tessera
