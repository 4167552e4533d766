#pragma once

// CumSum (11, 14), CumProd (26).

#include "ops/integer_list.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct CumSumAttributes {
  explicit CumSumAttributes(const Node& node)
      : exclusive(AttributeOr<int64_t>(node, "exclusive", 0) != 0),
        reverse(AttributeOr<int64_t>(node, "reverse", 0) != 0) {}

  /// The axis that input 1 names, in host memory. Throws Error where it names none of x.
  static AxisView View(const Shape& x, const Tensor& axis) {
    return AxisView(x, NormalizeAxis(ScalarInteger(axis, "axis"), x.rank()));
  }

  bool exclusive, reverse;
};

}  // namespace tessera
