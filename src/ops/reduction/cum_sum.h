#pragma once

// CumSum (11, 14), CumProd (26).

#include "base/attribute.h"
#include "base/check.h"
#include "ops/axis.h"
#include "tessera/value.h"

namespace tessera {

struct CumSumAttributes {
  explicit CumSumAttributes(const Node& node)
      : exclusive(AttributeOr<int64_t>(node, "exclusive", 0) != 0),
        reverse(AttributeOr<int64_t>(node, "reverse", 0) != 0) {}

  /// The axis that input 1 names, in host memory. Throws Error where it names none of x.
  static AxisView View(const Shape& x, const Tensor& axis) {
    const bool wide = axis.is(ElementType::kInt64);
    Require(axis.num_elements() == 1, "axis has shape {}, one element is expected", axis.shape());
    Require(wide || axis.is(ElementType::kInt32), "axis is {}, int32 or int64 is expected", ElementTypeName(axis.type()));
    return AxisView(x, NormalizeAxis(wide ? *axis.data<int64_t>() : *axis.data<int32_t>(), x.rank()));
  }

  bool exclusive, reverse;
};

}  // namespace tessera
