#pragma once

// Compress (9, 11, 28): the slices along an axis, or the elements, for which a condition holds.

#include <optional>

#include "base/check.h"
#include "ops/axis.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

struct CompressAttributes {
  explicit CompressAttributes(const Node& node) {
    if (const auto* given = FindTyped<int64_t>(node, "axis")) axis = *given;
  }

  /// Slices are those of the view's axis; without one, elements. Throws Error where the axis is outside of x, or the
  /// condition is no list.
  AxisView View(const Shape& x, const Tensor& condition) const {
    Require(condition.shape().rank() == 1 && condition.is(ElementType::kBool),
            "the condition is {} of shape {}, expected a list of bool", ElementTypeName(condition.type()),
            condition.shape());
    return axis ? AxisView(x, NormalizeAxis(*axis, x.rank())) : AxisView(1, x.num_elements(), 1);
  }
  Shape ResultShape(const Shape& x, int64_t kept) const {
    if (!axis) return {kept};
    Shape result = x;
    result[NormalizeAxis(*axis, x.rank())] = kept;
    return result;
  }

  std::optional<int64_t> axis;
};

}  // namespace tessera
